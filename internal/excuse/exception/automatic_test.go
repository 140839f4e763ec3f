package exception

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestAutomatic says which requests are approved by an ExceptionPolicy, and by no one
// else.
func TestAutomatic(t *testing.T) {
	const all, never, wrong = "{policies: ['*'], approvalPolicy: Automatic}", "{policies: [p], approvalPolicy: Automatic, approvalCondition: 'false'}",
		"{policies: [p], approvalPolicy: Automatic, approvalCondition: 'object.spec.reason + \"\" == \"x\"'}"
	kind := func(name string) Excusable {
		k, ok := excusableKind(name)
		if !ok {
			t.Fatal(name)
		}
		return k
	}
	one := []Meant{{kind("ClusterPolicy"), "p"}}
	for name, c := range map[string]struct {
		policies  []string
		namespace string
		meant     []Meant
		// may is set where one approves if its condition holds, and by names it where
		// it does.
		may        bool
		by, failed string
	}{
		"nothing said":            {nil, "dev", one, false, "", ""},
		"said":                    {[]string{all}, "dev", one, true, "rules-a", ""},
		"by hand":                 {[]string{"{policies: ['*'], approvalPolicy: Manual}"}, "dev", one, false, "", ""},
		"nothing meant":           {[]string{all}, "dev", nil, false, "", ""},
		"another policy":          {[]string{"{policies: [q], approvalPolicy: Automatic}"}, "dev", one, false, "", ""},
		"one of two":              {[]string{"{policies: [p], approvalPolicy: Automatic}"}, "dev", append(one[:1:1], Meant{kind("ClusterPolicy"), "q"}), false, "", ""},
		"its namespace":           {[]string{"{policies: [p], namespaces: [dev], approvalPolicy: Automatic}"}, "dev", one, true, "rules-a", ""},
		"another namespace":       {[]string{"{policies: [p], namespaces: [prod], approvalPolicy: Automatic}"}, "dev", one, false, "", ""},
		"a guarded kind":          {[]string{all}, "dev", []Meant{{kind("IdentitySource"), "p"}}, false, "", ""},
		"a guarded kind, named":   {[]string{"{policies: [p], policyKinds: [IdentitySource], approvalPolicy: Automatic}"}, "dev", []Meant{{kind("IdentitySource"), "p"}}, true, "rules-a", ""},
		"another kind":            {[]string{"{policies: [p], policyKinds: [IdentitySource], approvalPolicy: Automatic}"}, "dev", one, false, "", ""},
		"a condition":             {[]string{"{policies: [p], approvalPolicy: Automatic, approvalCondition: 'object.spec.duration == \"1d\"'}"}, "dev", one, true, "rules-a", ""},
		"a condition that is not": {[]string{never}, "dev", one, true, "", ""},
		"a condition that fails":  {[]string{wrong}, "dev", one, true, "", "ExceptionPolicy rules-a"},
		"two that fail":           {[]string{wrong, wrong}, "dev", one, true, "", "ExceptionPolicy rules-a"},
		"one that fails, and one": {[]string{wrong, all}, "dev", one, true, "rules-b", ""},
		"false, then one":         {[]string{never, all}, "dev", one, true, "rules-b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rules := rulesOfPolicies(t, c.policies...)
			if got := rules.MayBeAutomatic(c.namespace, c.meant); got != c.may {
				t.Errorf("may be: %t", got)
			}
			q := &v1alpha1.PolicyExceptionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "q"}, Spec: v1alpha1.PolicyExceptionRequestSpec{Duration: "1d"}}
			by, ok, err := rules.Automatic(t.Context(), q, c.meant, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
			if ok != (c.by != "") || ok && by != c.by {
				t.Errorf("approved by %q: %t", by, ok)
			}
			if !ok && ((err != nil) != (c.failed != "") || err != nil && !strings.Contains(err.Error(), c.failed)) {
				t.Errorf("%v, want %q", err, c.failed)
			}
			some := false
			for _, policy := range c.policies {
				some = some || strings.Contains(policy, "Automatic")
			}
			if rules.ApprovesSome() != some {
				t.Errorf("approves some: %t", !some)
			}
		})
	}
}
