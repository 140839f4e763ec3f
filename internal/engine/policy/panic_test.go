package policy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestPanicIsAFaultOfOneObject has the others compiled, and what is stored answered
// for.
func TestPanicIsAFaultOfOneObject(t *testing.T) {
	sources := sourcesOf(t, deny0("{podSecurityRules: {blockFactors: [hostPID]}}"), strings.Replace(deny0("{podSecurityRules: {blockFactors: [hostPID]}}"), "name: d", "name: e", 1))
	for i := range sources.DenyPolicies {
		sources.DenyPolicies[i].Origin = ""
	}
	c := newCompiling(true)
	var compiled []string
	each(&c, stored.KindDenyPolicy, sources.DenyPolicies, func(id stored.Ref, _ stored.Sourced[*v1alpha1.DenyPolicy]) field.ErrorList {
		if id.Name == "d" {
			panic("boom")
		}
		compiled = append(compiled, id.Name)
		return nil
	})
	if strings.Join(compiled, " ") != "e" || len(c.problems) != 1 || !strings.Contains(c.problems[0].Error(), "DenyPolicy d: spec: Internal error: this cannot be compiled") || len(c.broken) != 1 {
		t.Errorf("%v %v %v", compiled, c.problems, c.broken)
	}
	set := setOf(t)
	set.answerFor(c.broken)
	set.order(newCache())
	r := access1(clusterOf(t, namespace("shop", nil)), "exec", "shop", "web")
	if d := set.Decide(t.Context(), r); d.Verdict != decision.Deny || !strings.Contains(messages(d), "it cannot work as it is stored") {
		t.Errorf("%s: %s", d.Verdict, messages(d))
	}
}

// TestReplaceLeavesNothingOfAPanic has what an origin brought before count after a
// change that panics.
func TestReplaceLeavesNothingOfAPanic(t *testing.T) {
	store := NewStore(pod.Default(), time.Now, exception.Options{})
	good := sourcesOf(t, deny0("{podSecurityRules: {blockFactors: [hostPID]}}"))
	if problems := store.Replace("files", good); len(problems) > 0 {
		t.Fatal(problems)
	}
	bad := good
	bad.PolicyServers = append(bad.PolicyServers, stored.Sourced[*v1alpha1.PolicyServer]{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an object that is not there is accepted")
			}
		}()
		store.Replace("files", bad)
	}()
	if problems := store.Merge(Sources{}); len(problems) > 0 || store.Set().Counts().DenyPolicies != 1 {
		t.Errorf("%v %+v", problems, store.Set().Counts())
	}
}
