package crd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// loaded is an object as it is read from a file, and what the loader says of it where
// another stands beside it.
func loaded(t *testing.T, text, beside string) (map[string]any, source.Problems) {
	t.Helper()
	var object map[string]any
	for d := range load.Parse("object", []byte(text)) {
		if d == nil {
			continue
		}
		if err := json.Unmarshal(d.Raw, &object); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if object == nil {
		t.Fatalf("no object in %s", text)
	}
	read := load.Collect(load.Parse("object", []byte(text+"\n---\n"+beside)))
	_, problems := policy.Compile(read.Sources, pod.Default(), exception.Options{Began: time.Now()})
	return object, append(read.Problems, problems...)
}

// TestPairs holds the definitions to the loader: each refuses what the other refuses,
// and takes what it takes.
func TestPairs(t *testing.T) {
	known := definitions(t)
	for _, p := range Pairs() {
		t.Run(p.Kind+", "+p.What, func(t *testing.T) {
			wrong, problems := loaded(t, p.Wrong, p.Beside)
			if len(problems) == 0 {
				t.Errorf("the loader takes %s", p.Wrong)
			}
			errs := known[p.Kind].refuses(t.Context(), wrong)
			if !slices.ContainsFunc(errs, func(err *field.Error) bool { return strings.Contains(err.Error(), p.Says) }) {
				t.Errorf("the definition does not say %q of %s: %v", p.Says, p.Wrong, errs)
			}
			right, problems := loaded(t, p.Right, p.Beside)
			if len(problems) > 0 {
				t.Errorf("the loader refuses %s: %v", p.Right, problems)
			}
			if errs := known[p.Kind].refuses(t.Context(), right); len(errs) > 0 {
				t.Errorf("the definition refuses %s: %v", p.Right, errs)
			}
		})
	}
}

// TestEveryRuleHasAPair looks for rules that no pair is about.
func TestEveryRuleHasAPair(t *testing.T) {
	for kind, d := range definitions(t) {
		d.eachRule(func(s *schema.Structural, _ bool, _ uint64) {
			for _, rule := range s.XValidations {
				if strings.Contains(rule.Rule, "oldSelf") {
					continue
				}
				if !slices.ContainsFunc(Pairs(), func(p Pair) bool { return strings.Contains(rule.Message, p.Says) }) {
					t.Errorf("no pair is about %q of %s", rule.Message, kind)
				}
			}
		})
	}
}

// costLimit is what an API server lets the rules of one definition cost.
const costLimit = 100_000_000

// TestCost keeps the definitions well below what API servers refuse.
func TestCost(t *testing.T) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	for kind, d := range definitions(t) {
		total := uint64(0)
		d.eachRule(func(s *schema.Structural, root bool, often uint64) {
			results, err := schemacel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit, base, schemacel.NewExpressionsEnvLoader())
			if err != nil {
				t.Fatal(kind, err)
			}
			for i, r := range results {
				if r.Error != nil {
					t.Errorf("%s: %q: %v", kind, s.XValidations[i].Rule, r.Error)
				}
				if path := s.XValidations[i].FieldPath; path != "" {
					if _, _, err := schemacel.ValidFieldPath(path, s); err != nil {
						t.Errorf("%s: %q is about the field %s: %v", kind, s.XValidations[i].Rule, path, err)
					}
				}
				cost := times(r.MaxCost, often)
				if often == 0 {
					cost = times(r.MaxCost, r.MaxCardinality)
				}
				if total += cost; cost > costLimit/10 {
					t.Errorf("%s: %q costs %d, an API server lets it cost %d", kind, s.XValidations[i].Rule, cost, costLimit/10)
				}
			}
		})
		t.Logf("%s: %d", kind, total)
		if total > costLimit*8/10 {
			t.Errorf("the rules of %s cost %d, an API server lets them cost %d", kind, total, costLimit)
		}
	}
}
