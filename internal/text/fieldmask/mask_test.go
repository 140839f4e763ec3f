package fieldmask_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/text/fieldmask"
)

func parse(t testing.TB, paths ...string) *fieldmask.Mask {
	t.Helper()
	m, err := fieldmask.Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths     []string
		src, want string
	}{
		"nested":              {[]string{"a.b", "d"}, `{"a":{"b":1,"c":2},"d":3,"e":4}`, `{"a":{"b":1},"d":3}`},
		"lists are passed":    {[]string{"u.n"}, `{"u":[{"n":"x","o":1},{"n":"y"}],"m":{}}`, `{"u":[{"n":"x"},{"n":"y"}]}`},
		"lists are named":     {[]string{"u[*].n[*]", "v[*]['a.b']"}, `{"u":[{"n":"x","o":1}],"v":[{"a.b":1,"c":2}],"m":{}}`, `{"u":[{"n":"x"}],"v":[{"a.b":1}]}`},
		"all below":           {[]string{"u"}, `{"u":{"a":[1,2,{"b":null}]},"m":1}`, `{"u":{"a":[1,2,{"b":null}]}}`},
		"a longer path after": {[]string{"u", "u.a"}, `{"u":{"a":1,"b":2}}`, `{"u":{"a":1,"b":2}}`},
		"nothing is there":    {[]string{"x.y"}, `{"u":1}`, `{}`},
		"a scalar on the way": {[]string{"u.a"}, `{"u":1}`, `{"u":1}`},
		"labels":              {[]string{"metadata.labels['a.b/c']"}, `{"metadata":{"labels":{"a.b/c":"1","d":"2"},"managedFields":[{}]}}`, `{"metadata":{"labels":{"a.b/c":"1"}}}`},
		"an escaped name":     {[]string{"ab"}, `{"a\u0062":1,"c":"\\\""}`, `{"a\u0062":1}`},
		"strings with braces": {[]string{"b"}, `{"a":"}{\"][","b":"],["}`, `{"b":"],["}`},
		"blanks":              {[]string{"b"}, " { \"a\" : [ 1 , 2 ] , \"b\" : { \"c\" : true } } ", `{"b":{ "c" : true }}`},
		"no path":             {nil, `{"a":1}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, c.paths...).Append(nil, []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAlgebra(t *testing.T) {
	t.Parallel()
	a, b := parse(t, "a.b", "a.c", "d"), parse(t, "a", "d.e", "f")
	if diff := cmp.Diff([]string{"a.b", "a.c", "d.e"}, fieldmask.Intersect(a, b).Paths()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "d", "f"}, fieldmask.Union(a, b).Paths()); diff != "" {
		t.Error(diff)
	}
	if got := fieldmask.Intersect(parse(t, "a.b"), parse(t, "a.c")); got.Allows("a") || len(got.Paths()) != 0 {
		t.Errorf("two masks that share nothing keep %v", got.Paths())
	}
	if fieldmask.Union(nil, a) != nil || fieldmask.Intersect(nil, a) != a {
		t.Error("a nil mask does not keep everything")
	}
	if !a.Allows("d", "x") || a.Allows("a") || !a.Allows("a", "b") {
		t.Error("Allows differs from what is kept")
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a['b", "a['']", "a[0]", "a['b']c", "a\x80", strings.Repeat("a.", 70) + "a"} {
		if names, err := fieldmask.Split(bad); err == nil {
			t.Errorf("%q was taken for %q", bad, names)
		}
	}
}

// FuzzAppend compares with pruning what encoding/json decodes.
func FuzzAppend(f *testing.F) {
	f.Add("a.b", []byte(`{"a":[{"b":1},2],"c":{}}`))
	f.Add("a", []byte(`{"\u0061":"\\"}`))
	f.Add("\x80.\xb9b", []byte("{\"a\":[{\"b\":1},2],\"\x80\":{}}"))
	f.Fuzz(func(t *testing.T, path string, src []byte) {
		m, err := fieldmask.Parse([]string{path})
		if err != nil {
			return
		}
		got, err := m.Append(nil, src)
		// An API server takes only objects whose names are valid, and gives no others.
		if !json.Valid(src) || !utf8.Valid(src) || strings.Count(string(src), "[")+strings.Count(string(src), "{") > 400 {
			return
		}
		if err != nil {
			t.Fatalf("valid JSON gave %v", err)
		}
		names, _ := fieldmask.Split(path)
		var whole, kept any
		if json.Unmarshal(src, &whole) != nil {
			return // a number that does not fit
		}
		if err := json.Unmarshal(got, &kept); err != nil {
			t.Fatalf("%s gave %s: %v", src, got, err)
		}
		if want := prune(whole, names); !reflect.DeepEqual(want, kept) {
			t.Errorf("%s by %q gave %s", src, path, got)
		}
	})
}

func prune(v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		if len(names) == 0 {
			return v
		}
		kept := map[string]any{}
		if child, ok := v[names[0]]; ok {
			kept[names[0]] = prune(child, names[1:])
		}
		return kept
	case []any:
		kept := []any{}
		for _, e := range v {
			kept = append(kept, prune(e, names))
		}
		return kept
	}
	return v
}

func BenchmarkAppend(b *testing.B) {
	m := parse(b, "metadata.name", "metadata.labels.team")
	src := []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-0001","uid":"8288b7fd-3fd8-41bb-941b-09754df5caf6","labels":{"team":"a","kubernetes.io/metadata.name":"team-0001"},"annotations":{"x":"` + strings.Repeat("y", 600) + `"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`)
	b.SetBytes(int64(len(src)))
	var dst []byte
	for b.Loop() {
		dst, _ = m.Append(dst[:0], src)
	}
}
