package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
)

// TestReviewControllerAccounts asks about a pod of a controller that sets a label
// which exempts: the flags name the controllers for such labels as well.
func TestReviewControllerAccounts(t *testing.T) {
	policies := filepath.Join(t.TempDir(), "policies.yaml")
	const text = `apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: risky}
spec:
  podSecurityRules:
    blockFactors: [privilegedContainer]
    exemptions: {podLabels: {debug: allowed}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`
	if err := os.WriteFile(policies, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"a","namespace":"shop","operation":"CREATE","userInfo":{"username":"USER"},"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","labels":{"debug":"allowed"},"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Job","name":"w","uid":"u","controller":true}]},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	const controller = "system:serviceaccount:kube-system:job-controller"
	const since = "a controller is asked for it, since its owner Job shop/w"
	for _, c := range []struct {
		name, user string
		flags      []string
		asked      bool
	}{
		{"the account of a kind of that name of another group", controller, nil, false},
		{"as configured", controller, []string{"--controller-account", "Job.example.com=" + controller}, true},
		{"another, as configured", "ops", []string{"--controller-account", "Job.example.com=ops"}, true},
		{"a shared one, as configured", "ops", []string{"--shared-controller-account", "ops"}, true},
		{"another kind's, as configured", "ops", []string{"--controller-account", "Job.batch=ops"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := clitest.Run(t, strings.Replace(review, "USER", c.user, 1), append([]string{"review", "-p", policies, "-"}, c.flags...)...)
			if status != 1 || !strings.Contains(out, "may not set them") || strings.Contains(out, since) != c.asked {
				t.Errorf("%d: %s%s", status, out, errs)
			}
		})
	}
}
