package pattern_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/rules/pattern"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// The tables in this package's table_*_test.go files hold what the language
// promises, clause by clause. Each pattern is compiled once and judges the
// resources below it.
type table struct {
	name    string
	pattern string // YAML
	cases   []check
}

type check struct {
	name     string
	resource string // YAML
	want     want
}

// want is the result that a check asks for.
type want struct {
	outcome  pattern.Outcome
	failures []wanted
	skipped  string // how Result.Skipped ends, anchors taken off
}

// wanted is a failure: of the value at path, or of a path where nothing is.
type wanted struct {
	path    string
	value   any
	missing bool
	loose   bool // value and missing are not compared
}

var pass = want{outcome: pattern.Pass}

func skip(anchor string) want { return want{outcome: pattern.Skip, skipped: anchor} }

func fail(failures ...wanted) want { return want{outcome: pattern.Fail, failures: failures} }

func at(path string, value any) wanted { return wanted{path: path, value: value} }

func missing(path string) wanted { return wanted{path: path, missing: true} }

// somewhere is a failure at path of which only the path matters.
func somewhere(path string) wanted { return wanted{path: path, loose: true} }

// where is the path that patterns are compiled for.
func where() *field.Path {
	return field.NewPath("spec").Child("rules").Index(0).Child("validate", "pattern")
}

// decode reads YAML into the tree that the package is given outside of tests.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("YAML %s: %v", text, err)
	}
	tree, err := apijson.Tree(data)
	if err != nil {
		t.Fatalf("YAML %s: %v", text, err)
	}
	return tree
}

func compile(t testing.TB, text string) *pattern.Pattern {
	t.Helper()
	p, errs := pattern.Compile(decode(t, text), where())
	if len(errs) > 0 {
		t.Fatalf("Compile(%s): %v", text, errs.ToAggregate())
	}
	return p
}

func run(t *testing.T, tables []table) {
	t.Helper()
	for _, tb := range tables {
		t.Run(tb.name, func(t *testing.T) {
			p := compile(t, tb.pattern)
			for _, c := range tb.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Logf("pattern %s\nresource %s", tb.pattern, c.resource)
					judge(t, p.Match(decode(t, c.resource)), c.want)
				})
			}
		})
	}
}

var anchor = regexp.MustCompile(`[<=^X]?\(([^()]*)\)`)

// judge compares a result with what is wanted of it. The order of failures is
// tested apart.
func judge(t *testing.T, got pattern.Result, want want) {
	t.Helper()
	if got.Outcome != want.outcome {
		t.Fatalf("outcome %v (skipped by %q, failures %+v), want %v %+v",
			got.Outcome, got.Skipped, got.Failures, want.outcome, want.failures)
	}
	switch plain := anchor.ReplaceAllString(got.Skipped, "$1"); {
	case want.outcome != pattern.Skip && got.Skipped != "":
		t.Errorf("outcome %v with Skipped %q", got.Outcome, got.Skipped)
	case want.outcome == pattern.Skip && got.Skipped == "":
		t.Error("skip that does not say which anchor")
	case !strings.HasSuffix(plain, want.skipped):
		t.Errorf("Skipped %q, want the path that ends in %q", got.Skipped, want.skipped)
	}
	var failures []wanted
	for _, f := range got.Failures {
		if f.Detail == "" {
			t.Errorf("failure at %s without detail", f.Path)
		}
		failures = append(failures, wanted{path: f.Path, value: f.Value, missing: f.Missing})
	}
	wants := slices.Clone(want.failures)
	byPath := func(a, b wanted) int { return strings.Compare(a.path, b.path) }
	slices.SortStableFunc(failures, byPath)
	slices.SortStableFunc(wants, byPath)
	for i := range failures {
		if i < len(wants) && wants[i].loose {
			failures[i] = wanted{path: failures[i].path, loose: true}
		}
	}
	if diff := cmp.Diff(wants, failures, cmp.AllowUnexported(wanted{})); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func compileAny(t testing.TB, texts ...string) *pattern.Pattern {
	t.Helper()
	var patterns []any
	for _, text := range texts {
		patterns = append(patterns, decode(t, text))
	}
	p, errs := pattern.CompileAny(patterns, where())
	if len(errs) > 0 {
		t.Fatalf("CompileAny(%q): %v", texts, errs.ToAggregate())
	}
	return p
}
