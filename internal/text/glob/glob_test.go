package glob

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	cases := []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"prod-*", "prod-eu", true},
		{"prod-*", "prod-", true},
		{"prod-*", "prod", false},
		{"prod-*", "preprod-eu", false},
		{"*-eu", "prod-eu", true},
		{"*-eu", "prod-eu-1", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxbyy", false},
		{"a*bc", "abcbc", true},
		{"*", "", true},
		{"*", "anything/at.all", true},
		{"?", "", false},
		{"?", "ab", false},
		{"?", "é", true},
		{"v?", "v1", true},
		{"*?", "", false},
		{"?*", "x", true},
		{"a?c", "abc", true},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`\*`, "*", false},
		{"Prod", "prod", false},
		{"**a", "ba", true},
		{"*é*", "caféine", true},
	}
	for _, c := range cases {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	list := NewList([]string{"kube-system", "team-*"})
	for name, want := range map[string]bool{"kube-system": true, "team-a": true, "kube-systems": false, "": false} {
		if got := list.Match(name); got != want {
			t.Errorf("Match(%q) = %v, want %v", name, got, want)
		}
	}
	var none List
	if none.Match("") || none.Match("a") {
		t.Error("the zero List matches something")
	}
	all := NewList([]string{"*"})
	if !all.Match("") || !all.Match("x") {
		t.Error("* does not match everything")
	}
	empty := NewList([]string{""})
	if !empty.Match("") || empty.Match("x") {
		t.Error("the empty name stands only for itself")
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "axbyc")
	f.Add("*****************************x", strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		if !IsPattern(pattern) && got != (pattern == name) {
			t.Errorf("Match(%q, %q) = %v for a pattern without wildcards", pattern, name, got)
		}
		if got && !Match("*"+pattern+"*", name) {
			t.Errorf("%q matches %q, wrapped in stars it does not", pattern, name)
		}
	})
}

func BenchmarkList(b *testing.B) {
	list := NewList([]string{"kube-system", "monitoring", "team-*", "*-prod"})
	for b.Loop() {
		list.Match("shop-staging")
	}
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"a", "", false}, {"*", "", true}, {"*", "*", true}, {"a", "a", true}, {"a", "b", false},
		{"kubernetes.io/*", "kubernetes.io/kube-*", true}, {"kubernetes.io/*", "example.com/*", false},
		{"kubernetes.io/*", "*", true}, {"kubernetes.io/*", "*/kubelet-serving", true}, {"a*c", "ab*", true}, {"a*c", "b*", false},
		{"?", "*", true}, {"?", "", false}, {"??", "?", false}, {"a?c", "ab*", true}, {"*a", "b*", true}, {"*é?", "é*", true},
		{"system:node:*", "system:node:worker-1", true}, {"system:node:*", "system:serviceaccount:*", false}, {"*a*", "bbb", false},
	} {
		for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := Overlap(pair[0], pair[1]); got != tt.want {
				t.Errorf("Overlap(%q, %q) = %v", pair[0], pair[1], got)
			}
		}
	}
	list := NewList([]string{"one", "two-*"})
	for name, want := range map[string]bool{"*": true, "o*": true, "two*": true, "two-x*": true, "three*": false, "one": true, "twofold": false} {
		if got := list.Overlaps(name); got != want {
			t.Errorf("Overlaps(%q) = %v", name, got)
		}
	}
}

func TestIncludes(t *testing.T) {
	for _, tt := range []struct {
		entries, others []string
		want            bool
	}{
		{nil, nil, true}, {nil, []string{"a"}, false}, {[]string{"a"}, nil, true},
		{[]string{"*"}, []string{"a", "b*", "?"}, true}, {[]string{"team-*"}, []string{"team-a", "team-b-*", "team-?"}, true},
		{[]string{"team-a-*"}, []string{"team-*"}, false}, {[]string{"a?"}, []string{"a*"}, false}, {[]string{"a?"}, []string{"ab"}, true},
		{[]string{"a?"}, []string{"a?"}, true}, {[]string{"a", "b"}, []string{"b", "a"}, true}, {[]string{"a"}, []string{"a", "b"}, false},
		{[]string{"*a*"}, []string{"b*a"}, true}, {[]string{"a"}, []string{"*"}, false},
	} {
		if got := Includes(tt.entries, tt.others); got != tt.want {
			t.Errorf("Includes(%q, %q) = %v", tt.entries, tt.others, got)
		}
	}
}
