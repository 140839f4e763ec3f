package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/config/rbac"
	"github.com/sallyport-io/sallyport/test/lab"
)

// used learns what Sallyport asks the API servers of all labs for.
var used = &lab.Used{Users: []string{lab.SallyportUser, "system:serviceaccount:" + system + ":sallyport", "system:serviceaccount:" + system + ":policy-server"}}

// elsewhere are rights that no test of this package makes use of, by where they are: in the
// tests of the chart, where everything that is off otherwise is on, or in unit tests only,
// which are held to nothing here. The latter are to become fewer.
var elsewhere = map[string][]string{
	"TestFeaturesRun in test/chart": {
		"watch pods", "watch serviceaccounts",
		"create configmaps", "create deployments.apps", "create services", "create poddisruptionbudgets.policy",
		"delete configmaps", "delete deployments.apps", "delete services", "delete poddisruptionbudgets.policy", "delete secrets",
		"get configmaps", "get services", "get poddisruptionbudgets.policy",
		"update configmaps", "update deployments.apps", "update poddisruptionbudgets.policy",
		"patch policyservers.sallyport.io", "patch policyservers/status.sallyport.io",
		"list controllerrevisions.apps", "list cronjobs.batch", "list daemonsets.apps", "list jobs.batch", "list podtemplates",
		"list replicasets.apps", "list replicationcontrollers", "list serviceaccounts", "list statefulsets.apps",
	},
	"unit tests: what is over is deleted after its time": {
		"delete breakglasssessions.sallyport.io", "delete clusterpolicyexceptions.sallyport.io", "delete policyexceptionrequests.sallyport.io",
		"delete policyexceptionresponses.sallyport.io", "delete policyexceptions.sallyport.io",
	},
	"unit tests: reports on what is in no namespace": {
		"create clusterreports.openreports.io", "delete clusterreports.openreports.io", "patch clusterreports.openreports.io",
		"get clusterreports.openreports.io", "get reports.openreports.io", "create reports.openreports.io",
	},
	"unit tests: policies about these kinds are scanned": {"list configmaps", "list networkpolicies.networking.k8s.io", "list services"},
	"unit tests: PolicyServers whose objects were changed, and webhooks of their policies": {
		"update services", "create mutatingwebhookconfigurations.admissionregistration.k8s.io", "create validatingwebhookconfigurations.admissionregistration.k8s.io",
		"delete mutatingwebhookconfigurations.admissionregistration.k8s.io", "delete validatingwebhookconfigurations.admissionregistration.k8s.io",
		"get admissionpolicies.sallyport.io", "patch admissionpolicies/status.sallyport.io",
	},
	"unit tests": {"get namespaces", "get virtualmachines.kubevirt.io", "patch events", "patch pods"},
}

// startLab starts a lab that says which rights Sallyport made use of.
func startLab(ctx context.Context, options lab.Options) (*lab.Lab, error) {
	options.Used = used
	return lab.Start(ctx, options)
}

// everyTest reports whether none of the tests is left out.
func everyTest() bool {
	for name, all := range map[string]string{"test.run": "", "test.skip": "", "test.short": "false", "test.list": "", "test.failfast": "false"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != all {
			return false
		}
	}
	return true
}

// allUsed is an error where Sallyport is given a right that it made use of in no test, and that is
// not known to be made use of elsewhere: it is superfluous, or what needs it is not tested.
func allUsed() error {
	account, err := rbac.OfAccount()
	if err != nil {
		return err
	}
	given := lab.RightsOf(slices.Concat(account.Everywhere, account.Own, account.FeaturesEverywhere, account.FeaturesOwn), "")
	unused := slices.DeleteFunc(used.Unused(given), func(right string) bool {
		for _, known := range elsewhere {
			if slices.Contains(known, right) {
				return true
			}
		}
		return false
	})
	if len(unused) > 0 {
		return fmt.Errorf("config/rbac gives %d rights, of which no test made use of:\n%s", len(given), strings.Join(unused, "\n"))
	}
	return nil
}
