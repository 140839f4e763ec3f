package rbac_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// rolesOf decodes every role in the files of a folder and below.
func rolesOf(t *testing.T, dir string) map[string]*rbacv1.ClusterRole {
	t.Helper()
	roles := map[string]*rbacv1.ClusterRole{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		for _, document := range strings.Split("\n"+read(t, path), "\n---\n") {
			role := &rbacv1.ClusterRole{}
			if err := yaml.Unmarshal([]byte(document), role); err != nil {
				return err
			}
			if role.Kind == "ClusterRole" || role.Kind == "Role" {
				roles[role.Name] = role
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// TestPeople lists what the roles of people give, and nothing beyond.
func TestPeople(t *testing.T) {
	const looks, keeps = "get list watch", "create delete get list patch update watch"
	policies := map[string]string{}
	approve := map[string]string{}
	for _, k := range exception.Excusables() {
		policies[v1alpha1.GroupVersion.Group+"/"+k.Resource] = looks
		approve[v1alpha1.GroupVersion.Group+"/"+k.Resource] = "approve"
	}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for name, verbs := range policies {
			all[name] = verbs
		}
		for name, verbs := range more {
			all[v1alpha1.GroupVersion.Group+"/"+name] = verbs
		}
		return all
	}
	only := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for name, verbs := range more {
			all[v1alpha1.GroupVersion.Group+"/"+name] = verbs
		}
		return all
	}
	// Whoever looks at an installation reads what it consists of and what policies say.
	doctor := map[string]string{
		"/namespaces": "list", "/services": "get", "apps/deployments": "get", "discovery.k8s.io/endpointslices": "list", "networking.k8s.io/networkpolicies": "list",
		"admissionregistration.k8s.io/validatingwebhookconfigurations": "get list", "admissionregistration.k8s.io/mutatingwebhookconfigurations": "get list",
		"authorization.k8s.io/subjectaccessreviews": "create", "coordination.k8s.io/leases": "list",
		"rbac.authorization.k8s.io/clusterroles": "list", "rbac.authorization.k8s.io/clusterrolebindings": "list", "rbac.authorization.k8s.io/roles": "list", "rbac.authorization.k8s.io/rolebindings": "list",
	}
	for _, kind := range v1alpha1.Kinds() {
		if !slices.Contains([]string{exception.KindRequest, exception.KindResponse, "BreakglassSession"}, kind) {
			doctor[v1alpha1.GroupVersion.Group+"/"+v1alpha1.Plural(kind)] = "list"
		}
	}
	want := map[string]map[string]string{
		"sallyport-doctor":              doctor,
		"sallyport-doctor-canary":       only(map[string]string{"policyexceptionresponses": "create"}),
		"sallyport-exception-requester": only(map[string]string{"policyexceptionrequests": keeps, "policyexceptions": looks}),
		"sallyport-exception-approver": with(map[string]string{
			"policyexceptionrequests": looks, "policyexceptionresponses": "create delete get list watch",
			"policyexceptions": looks, "clusterpolicyexceptions": looks, "exceptionpolicies": looks,
		}),
		"sallyport-approve-every-policy": approve,
		"sallyport-exception-auditor": with(map[string]string{
			"policyexceptions": looks, "clusterpolicyexceptions": looks, "policyexceptionrequests": looks, "policyexceptionresponses": looks, "exceptionpolicies": looks,
		}),
		"sallyport-exception-gitops":  only(map[string]string{"policyexceptions": keeps, "clusterpolicyexceptions": keeps}),
		"sallyport-session-requester": only(map[string]string{"breakglasssessions": "create get list watch", "breakglasssessions/status": "get patch", "breakglassescalations": "get list"}),
		"sallyport-session-approver":  only(map[string]string{"breakglasssessions": looks, "breakglassescalations": looks, "breakglasssessions/status": "get patch"}),
		"sallyport-session-auditor":   only(map[string]string{"breakglasssessions": looks, "breakglassescalations": looks}),
	}
	got := map[string]map[string]string{}
	for name, role := range rolesOf(t, "people") {
		got[name] = granted(t, role.Rules)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the roles of people (-needed +granted):\n%s", diff)
	}
}

// TestApproveIsInNoOtherRole keeps approve, by name or by a wildcard, out of every
// role that is shipped but the one that is for it, and that one out of what
// Kubernetes aggregates.
func TestApproveIsInNoOtherRole(t *testing.T) {
	roles := rolesOf(t, "..")
	if len(roles) < 8 {
		t.Fatalf("%d roles were found", len(roles))
	}
	for name, role := range roles {
		for label := range role.Labels {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
				t.Errorf("%s is aggregated, by %s", name, label)
			}
		}
		for _, rule := range role.Rules {
			ours := slices.Contains(rule.APIGroups, v1alpha1.GroupVersion.Group) || slices.Contains(rule.APIGroups, "*")
			approves := slices.Contains(rule.Verbs, "approve") || slices.Contains(rule.Verbs, "*")
			if ours && approves && name != "sallyport-approve-every-policy" {
				t.Errorf("%s gives approve: %+v", name, rule)
			}
			if slices.Contains(rule.Resources, "*") && ours {
				t.Errorf("%s gives all resources: %+v", name, rule)
			}
		}
	}
}
