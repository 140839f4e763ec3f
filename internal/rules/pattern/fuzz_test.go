package pattern

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// tree reads any JSON value; false if data is none.
func tree(data []byte) (any, bool) {
	wrapped, err := apijson.Tree([]byte(`{"value":` + string(data) + `}`))
	return wrapped["value"], err == nil
}

var seeds = []struct{ pattern, resource string }{
	{`{"spec":{"containers":[{"image":"!*:latest"}]}}`, `{"spec":{"containers":[{"image":"nginx:latest"},{"image":null}]}}`},
	{`{"spec":{"containers":[{"(name)":"a*","image":"?*"},{"<(image)":"b"}]}}`, `{"spec":{"containers":[{"name":"ab"},{"name":5,"image":"b"}]}}`},
	{`{"metadata":{"labels":{"a/*":"?*","X(b)":"null"}}}`, `{"metadata":{"labels":{"a/b":"","b":"c"}}}`},
	{`{"=(a)":{"^(b)":[{"c":">=1Gi & <2Gi | 1h-2h"}]}}`, `{"a":{"b":[{"c":"90m"},{"c":[1e300,-0.0,true]}]}}`},
	{`{"a":[["*",["1e999",0]]],"b":"5m!-1e-9"}`, `{"a":[[1,[2]],[]],"b":"99999999999999999999Ki"}`},
	{`{"(a":1,"+(b)":2,"":3,"c":"> | &","d":[]}`, `{"a":{"b":[[],{}]}}`},
	{`"5"`, `[[5,"5.0",[5000]],{}]`},
}

// FuzzMatch holds that any pattern is refused or judges any resource, and that
// the result is whole and the same each time.
func FuzzMatch(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed.pattern), []byte(seed.resource))
	}
	f.Fuzz(func(t *testing.T, patternData, resourceData []byte) {
		pattern, ok := tree(patternData)
		if !ok {
			return
		}
		resource, ok := tree(resourceData)
		if !ok {
			return
		}
		p, errs := Compile(pattern, field.NewPath("pattern"))
		if (p == nil) != (len(errs) > 0) {
			t.Fatalf("Compile gives %v and %v", p, errs)
		}
		if p == nil {
			return
		}
		got := p.Match(resource)
		if (got.Outcome == Fail) != (len(got.Failures) > 0) || (got.Outcome == Skip) != (got.Skipped != "") {
			t.Errorf("the result is not whole: %+v", got)
		}
		for _, failure := range got.Failures {
			if failure.Detail == "" || failure.Missing && failure.Value != nil {
				t.Errorf("the failure is not whole: %+v", failure)
			}
		}
		if again := p.Match(resource); !reflect.DeepEqual(got, again) {
			t.Errorf("%+v, and the second time %+v", got, again)
		}
	})
}

// FuzzMatchItself holds that a pattern made from a resource matches it.
func FuzzMatchItself(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed.resource))
		f.Add([]byte(seed.pattern))
	}
	f.Add([]byte(`{"metadata":{"labels":{"a*":"x","ab":"y"}},"a":"1-2","b":"!","c":" ","d":">5","e":[5,5],"f":[null],"g":[[]],"h":[[1,[]]],"i":[{"j":[[]]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		resource, err := apijson.Tree(data)
		if err != nil {
			return
		}
		pattern := patternOf(resource)
		p, errs := Compile(pattern, field.NewPath("pattern"))
		if len(errs) > 0 {
			t.Fatalf("the pattern %s is refused: %v", inJSON(pattern), errs.ToAggregate())
		}
		if got := p.Match(resource); got.Outcome != Pass {
			t.Errorf("%s is not matched by %s: %+v", inJSON(resource), inJSON(pattern), got)
		}
	})
}

// patternOf makes a pattern of a resource. What no pattern can say is left out, if
// it is a key, or is only asked to be there.
func patternOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		pattern := map[string]any{}
		for key, below := range v {
			if kind, _, err := parseKey(key); err == nil && kind == none && !glob.IsPattern(key) && below != nil {
				pattern[key] = patternOf(below)
			}
		}
		return pattern
	case []any:
		if len(v) == 0 {
			return "*"
		}
		for _, item := range v {
			// The items of a list are asked for together, so they have to be the same.
			if !reflect.DeepEqual(item, v[0]) {
				return "*"
			}
		}
		item := patternOfItem(v[0])
		if cannotBeSaid(item) {
			return "*"
		}
		return []any{item}
	case string:
		if _, err := parseExpression(v); err != nil {
			return "*"
		}
	}
	return value
}

// cannotBeSaid reports whether an item of a list asks nothing, which no pattern may.
func cannotBeSaid(item any) bool {
	list, ok := item.([]any)
	return item == nil || isEmptyMap(item) || ok && (len(list) == 0 || slices.ContainsFunc(list, cannotBeSaid))
}

// patternOfItem makes a pattern of a list's item. A list in a list can be told
// item by item.
func patternOfItem(item any) any {
	list, ok := item.([]any)
	if !ok {
		return patternOf(item)
	}
	pattern := make([]any, len(list))
	for i, below := range list {
		pattern[i] = patternOfItem(below)
	}
	return pattern
}
