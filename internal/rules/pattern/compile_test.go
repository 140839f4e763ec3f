package pattern

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestRefusals holds where errors point and that they say what is wrong.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		pattern any
		path    string
		says    string
	}{
		{"nothing", nil, "p", "must be a map"},
		{"a value that no JSON holds", map[string]any{"a": struct{}{}}, "p.a", "struct"},
		{"no number", map[string]any{"a": math.NaN()}, "p.a", "float64"},
		{"an empty key", map[string]any{"a": map[string]any{"": 1}}, "p.a[]", "empty"},
		{"a bracket not closed", map[string]any{"(a": 1}, "p.(a", "not closed"},
		{"a bracket not opened", map[string]any{"a)": 1}, "p.a)", "never opened"},
		{"text behind the bracket", map[string]any{"(a)b": 1}, "p.(a)b", "not closed at the end"},
		{"two pairs", map[string]any{"=((a))": 1}, "p.=((a))", "more than one pair"},
		{"an unknown anchor", map[string]any{"?(a)": 1}, "p.?(a)", `no anchor "?"`},
		{"a small x", map[string]any{"x(a)": 1}, "p.x(a)", `no anchor "x"`},
		{"an anchor of mutation", map[string]any{"+(a)": 1}, "p.+(a)", "validates"},
		{"an anchor of nothing", map[string]any{"^( )": 1}, "p[^( )]", "nothing stands in the brackets"},
		{"a wildcard in a key", map[string]any{"spec": map[string]any{"host*": 1}}, "p.spec.host*", "name the field"},
		{"a wildcard in an anchored key", map[string]any{"=(host*)": 1}, "p.=(host*)", "name the field"},
		{"a wildcard below labels", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": map[string]any{"b*": 1}}}}, "p.metadata.labels.a.b*", "name the field"},
		{"labels of no metadata", map[string]any{"spec": map[string]any{"labels": map[string]any{"b*": 1}}}, "p.spec.labels.b*", "name the field"},
		{"labels in a list", map[string]any{"metadata": []any{map[string]any{"labels": map[string]any{"b/*": 1}}}}, "p.metadata[0].labels[b/*]", "name the field"},
		{"an empty list", map[string]any{"a": []any{}}, "p.a", "asks nothing"},
		{"an empty list in a list", map[string]any{"a": []any{[]any{}}}, "p.a[0]", "asks nothing"},
		{"several scalars", map[string]any{"a": []any{"x", int64(5), true}}, "p.a[1]", `"x | 5 | true"`},
		{"several lists", map[string]any{"a": []any{[]any{"x"}, []any{"y"}}}, "p.a[1]", "only maps"},
		{"a scalar beside a map", map[string]any{"a": []any{map[string]any{}, "x"}}, "p.a[1]", "only maps"},
		{"exists without a list", map[string]any{"^(a)": map[string]any{}}, "p.^(a)", "list of maps"},
		{"exists with an empty list", map[string]any{"^(a)": []any{}}, "p.^(a)", "list of maps"},
		{"exists with a scalar", map[string]any{"^(a)": []any{map[string]any{"b": "c"}, "x"}}, "p.^(a)[1]", "list of maps"},
		{"nothing behind an operator", map[string]any{"a": ">= "}, "p.a", "nothing stands after the operator >="},
		{"nothing behind not", map[string]any{"a": "x | !"}, "p.a", "nothing stands after the operator !"},
		{"nothing beside or", map[string]any{"a": "x||y"}, "p.a", "nothing stands beside"},
		{"nothing before and", map[string]any{"a": "& x"}, "p.a", "nothing stands beside"},
		{"blanks", map[string]any{"a": "  "}, "p.a", "blank"},
		{"a bad quantity", map[string]any{"a": "<10Xi"}, "p.a", `"10Xi" cannot be compared`},
		{"an unknown operator", map[string]any{"a": "==5"}, "p.a", "operator that there is not"},
		{"not and equal", map[string]any{"a": "!=5"}, "p.a", "one operator before another"},
		{"not and greater", map[string]any{"a": "! >5"}, "p.a", "one operator before another"},
		{"greater twice", map[string]any{"a": ">>5"}, "p.a", "cannot be compared"},
		{"not a range", map[string]any{"a": "!1h-2h"}, "p.a", "1h!-2h"},
		{"a range upside down", map[string]any{"a": "2Gi-1Gi"}, "p.a", "lower one first"},
		{"durations upside down", map[string]any{"a": "1h!-1m"}, "p.a", "lower one first"},
		{"half a range", map[string]any{"a": "5!-x"}, "p.a", "is not a range"},
		{"null", map[string]any{"a": nil}, "p.a", `write X(a): "null" where the field must not be there, or =(a): ""`},
		{"null that must be absent", map[string]any{"X(a)": nil}, "p.X(a)", `write X(a): "null", in quotes`},
		{"null if present", map[string]any{"=(a)": nil}, "p.=(a)", `write X(a): "null"`},
		{"null as a condition", map[string]any{"(a)": nil, "b": "c"}, "p.(a)", `write (a): ""`},
		{"null as a global anchor", map[string]any{"<(a)": nil, "b": "c"}, "p.<(a)", `write <(a): ""`},
		{"null that exists", map[string]any{"^(a)": nil}, "p.^(a)", "write the list of maps"},
		{"null in a list", map[string]any{"a": []any{nil}}, "p.a[0]", "write what the items have to match"},
		{"null within lists and maps", map[string]any{"a": []any{map[string]any{"b": map[string]any{"X(c)": nil}}}}, "p.a[0].b.X(c)", `write X(c): "null"`},
		{"an empty map in a list", map[string]any{"a": []any{map[string]any{}}}, "p.a[0]", "asks nothing"},
		{"an empty map if present", map[string]any{"=(a)": map[string]any{}}, "p.=(a)", "asks nothing"},
		{"an empty map that exists", map[string]any{"^(a)": []any{map[string]any{}}}, "p.^(a)[0]", "asks nothing"},
		{"bounds of two kinds", map[string]any{"a": "5!-1h"}, "p.a", "is not a range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, errs := Compile(tt.pattern, field.NewPath("p"))
			if p != nil || len(errs) != 1 {
				t.Fatalf("got %v and %v, want one error", p, errs)
			}
			if errs[0].Field != tt.path || !strings.Contains(errs[0].Error(), tt.says) {
				t.Errorf("%v, want it at %s and to say %q", errs[0], tt.path, tt.says)
			}
		})
	}
}

func TestAllRefusalsAtOnce(t *testing.T) {
	_, errs := CompileAny([]any{map[string]any{"b": ">", "a": []any{}}, nil}, field.NewPath("p"))
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	if diff := cmp.Diff([]string{"p[0].a", "p[0].b", "p[1]"}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if p, errs := CompileAny(nil, field.NewPath("p")); p != nil || len(errs) != 1 {
		t.Errorf("no patterns give %v and %v", p, errs)
	}
}

func TestLongValuesAreCutInMessages(t *testing.T) {
	value := map[string]any{"^(a)": map[string]any{"b": strings.Repeat("é", 500)}}
	_, errs := Compile(value, nil)
	if len(errs) != 1 || len(errs[0].Error()) > 500 || strings.ContainsRune(errs[0].Error(), '\uFFFD') {
		t.Errorf("%v", errs)
	}
}

// TestOrderOfFailures holds that failures stand in the order of the resource.
func TestOrderOfFailures(t *testing.T) {
	p := mustCompile(t, `{"z":{"=(b)":1,"a":1,"X(c)":"null"},"metadata":{"labels":{"*":"?*","b":"x"}},"l":[{"b":1},{"a":1}]}`)
	resource, _ := tree([]byte(`{"z":{"b":2,"a":2,"c":2},"metadata":{"labels":{"c":"","a":"","b":"y"}},"l":[{"a":2,"b":2},{},{},{},{},{},{},{},{},{},{"a":1}]}`))
	var got []string
	for _, failure := range p.Match(resource).Failures {
		got = append(got, failure.Path)
	}
	want := []string{"l[0].a", "l[0].b", "l[1].a", "l[1].b", "l[2].a", "l[2].b", "l[3].a", "l[3].b", "l[4].a", "l[4].b", "l[5].a", "l[5].b",
		"l[6].a", "l[6].b", "l[7].a", "l[7].b", "l[8].a", "l[8].b", "l[9].a", "l[9].b", "l[10].b",
		"metadata.labels.a", "metadata.labels.b", "metadata.labels.c", "z.a", "z.b", "z.c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestSkippedNamesTheAnchorThatCounts holds that anchors of no consequence are
// not named.
func TestSkippedNamesTheAnchorThatCounts(t *testing.T) {
	for _, tt := range []struct{ name, pattern, resource, want string }{
		{"only an item skipped, then the rule", `{"a":[{"(n)":"x"}],"b":{"(k)":1}}`, `{"a":[{"n":"y"},{"n":"x"}],"b":{"k":2}}`, "b.k"},
		{"a condition's own condition", `{"(a)":{"(b)":1}}`, `{"a":{"b":2}}`, "a"},
		{"global after an item", `{"a":[{"(n)":"x","<(g)":1}]}`, `{"a":[{"n":"y"},{"n":"x","g":2}]}`, "a[1].g"},
		{"global within a condition", `{"(a)":{"<(b)":1},"c":5}`, `{"a":{"b":2},"c":6}`, "a.b"},
		{"global within exists", `{"^(a)":[{"<(b)":1}]}`, `{"a":[{"b":1},{"b":2}]}`, ""},
		{"exists skips nothing", `{"^(a)":[{"(b)":1}],"b":{"(k)":1}}`, `{"a":[{"b":2},{"b":1}],"b":{}}`, "b.k"},
		{"among labels", `{"metadata":{"labels":{"(a/*)":"x"}}}`, `{"metadata":{"labels":{"a/c":"y","a/d":"y"}}}`, "metadata.labels[a/c]"},
		{"among labels, of which one is enough", `{"metadata":{"labels":{"(a/*)":"x"}}}`, `{"metadata":{"labels":{"a/b":"x","a/c":"y","a/d":"y"}}}`, ""},
		{"by index", `{"a":[[{"(n)":1},{"(n)":1}]]}`, `{"a":[[{"n":1},{"n":2}],[{"n":2},{"n":3}]],"b":1}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resource, _ := tree([]byte(tt.resource))
			got := mustCompile(t, tt.pattern).Match(resource)
			if got.Skipped != tt.want || (got.Outcome == Skip) != (tt.want != "") {
				t.Errorf("%+v, want skipped by %q", got, tt.want)
			}
		})
	}
}

// TestOddResources holds that values no JSON gives are not a way around a pattern.
func TestOddResources(t *testing.T) {
	var none *Pattern
	for _, p := range []*Pattern{none, {}} {
		if got := p.Match(map[string]any{}); got.Outcome != Fail || len(got.Failures) != 1 {
			t.Errorf("no pattern gives %+v", got)
		}
	}
	for _, text := range []string{`"!x"`, `""`, `"?*"`, `0`, `"!1"`, `">=0"`, `"0!-1"`, `{}`, `[{"b":"c"}]`} {
		p := mustCompile(t, `{"a":`+text+`}`)
		for _, value := range []any{struct{}{}, new(int), oddText(""), make(chan int), math.NaN(), map[string]string{}, []string{}} {
			if got := p.Match(map[string]any{"a": value}); got.Outcome != Fail {
				t.Errorf("%s against %T: %+v", text, value, got)
			}
		}
	}
	for _, resource := range []any{nil, "text", int64(5), []any{}, map[string]string{}} {
		if got := mustCompile(t, `{"X(a)":"null"}`).Match(resource); got.Outcome != Fail {
			t.Errorf("%v gives %+v", resource, got)
		}
	}
	if got := mustCompile(t, `{"X(a)":"null"}`).Match(map[string]any(nil)); got.Outcome != Pass {
		t.Errorf("a map without keys gives %+v", got)
	}
}

// oddText is a string of another type.
type oddText string
