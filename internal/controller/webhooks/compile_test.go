package webhooks

import (
	"testing"

	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// TestConditionsCompile as an API server compiles them when they are written.
func TestConditionsCompile(t *testing.T) {
	w := newWorld(t, clusterPolicy("a", about("Secret, Service, Pod/exec")), clusterPolicy("b", about(`"*"`)), clusterPolicy("c", about("Widget", "failurePolicy: Ignore")),
		policyIn("ops", "d", about("Lease")), policyIn("dev", "d", about("Lease, Event")), policyIn("ops", "e", about(`"*"`)))
	w.follows(t)
	compiler := admissioncel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	told := map[string]bool{}
	for name, h := range w.following(t) {
		for _, c := range h.MatchConditions {
			m := matchconditions.MatchCondition(c)
			if r := compiler.CompileCELExpression(&m, admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions); r.Error != nil {
				t.Errorf("%s, %s: %v", name, c.Name, r.Error)
			}
			told[c.Name] = true
		}
	}
	for _, name := range []string{"not-what-sallyport-is-repaired-by", "not-by-a-node", "not-by-the-control-plane-to-start-with", "of-policies-of-the-namespace", "labels-or-annotations-change"} {
		if !told[name] {
			t.Errorf("no webhook has the condition %s", name)
		}
	}
}
