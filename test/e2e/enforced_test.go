package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestEnforcedOnEveryReplica: a policy is enforced once every replica that answers has
// it, and says which has not.
func TestEnforcedOnEveryReplica(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "every", nil); err != nil {
		t.Fatal(err)
	}
	host, err := url.Parse(shared.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	between := newRelay(t, host.Host)
	start := func(o lab.SallyportOptions) *lab.Sallyport {
		t.Helper()
		o.Binary = binary
		s, err := shared.StartSallyport(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	leader := start(lab.SallyportOptions{Name: "every-leads"})
	eventually(t, func() string {
		if !strings.Contains(leader.Log(), "this replica leads") {
			return "the first replica does not lead"
		}
		return ""
	})
	start(lab.SallyportOptions{Name: "every-beside", APIServer: between.Address()})
	if err := shared.WireAdmission(t.Context(), leader, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	followRules(t)
	deleteAfter(t, "clusterpolicy", "every-before", "every-behind")
	deleteAfter(t, "policyexception", "every-behind", "-n", "every")
	want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "every-before")), true)
	enforced(t, "clusterpolicy/every-before", "True", "every replica has it in force")
	eventually(t, func() string {
		if _, metrics, err := leader.Get(t.Context(), "/metrics"); !strings.Contains(metrics, `sallyport_replicas{state="current"} 2`) {
			return fmt.Sprintf("the replica that leads does not count both (%v)", err)
		}
		return ""
	})

	if err := between.Silence(); err != nil {
		t.Fatal(err)
	}
	want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "every-behind")), true)
	want(t, apply(t, root, `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: every-behind, namespace: every}
spec: {reason: a test, exceptions: [{policyName: every-behind, ruleNames: [labelled]}], match: {any: [{resources: {kinds: [Pod], namespaces: [every]}}]}}
`), true)
	enforced(t, "clusterpolicy/every-behind", "False", "has not said that this version is in force there")
	enforced(t, "policyexception/every-behind", "False", "has not said that this version is in force there", "-n", "every")
	enforced(t, "clusterpolicy/every-before", "True", "every replica has it in force")
	between.Cut()
	if err := between.Restore(); err != nil {
		t.Fatal(err)
	}
	enforced(t, "clusterpolicy/every-behind", "True", "every replica has it in force")
	enforced(t, "policyexception/every-behind", "True", "every replica has it in force", "-n", "every")

	// One that ends in order keeps nobody waiting.
	out := shared.Kubectl(t.Context(), root, "get", "leases", "-n", "kube-system", "-l", "sallyport.io/replica-of=sallyport", "-o", "name")
	want(t, out, true)
	if n := strings.Count(out.String(), "sallyport-replica-"); n < 2 {
		t.Errorf("%d replicas say what they have: %s", n, out)
	}
}
