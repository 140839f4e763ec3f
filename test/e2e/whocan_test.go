package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// claimed is an identity in one form of its review.
type claimed struct{ key, value, form string }

func (c claimed) attributes() *authorizationv1.ResourceAttributes {
	a := &authorizationv1.ResourceAttributes{Verb: "use", Group: "authorization.k8s.io"}
	if c.form == "resource" {
		a.Resource, a.Name = c.key, c.value
	} else {
		a.Resource, a.Subresource, a.Name = "validatedannotations", c.value, c.key
	}
	return a
}

// someRBAC are roles with rules out of what people write, right and wrong, bound
// to users, groups and service accounts.
func someRBAC(r *rand.Rand) (objects []any, subjects []rbacv1.Subject) {
	pick := func(from ...string) []string {
		var some []string
		for _, s := range from {
			if r.IntN(len(from)) < 2 {
				some = append(some, s)
			}
		}
		if len(some) == 0 {
			some = append(some, from[r.IntN(len(from))])
		}
		return some
	}
	for i := range 5 {
		subjects = append(subjects,
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: fmt.Sprintf("whocan-user-%d", i)},
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: fmt.Sprintf("whocan-group-%d", i)},
			rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: fmt.Sprintf("whocan-%d", i)})
	}
	subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "system:serviceaccount:shop:whocan-0"})
	labels := map[string]string{"whocan": "yes"}
	for i := range 40 {
		name := fmt.Sprintf("whocan-%02d", i)
		rules := make([]rbacv1.PolicyRule, 1+r.IntN(2))
		for j := range rules {
			rules[j] = rbacv1.PolicyRule{
				Verbs: pick("use", "use", "*", "get"), APIGroups: pick("authorization.k8s.io", "authorization.k8s.io", "*", ""),
				Resources: pick("validatedannotations/web", "validatedannotations/*", "validatedannotations", "*/web", "*/db", "*", "kerberos", "spiffe", "kerberos/web"),
			}
			if r.IntN(3) > 0 {
				rules[j].ResourceNames = pick("kerberos", "spiffe", "web", "db", "*")
			}
		}
		role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
		if i == 0 {
			role.Name = "whocan-gone"
		}
		var bound []rbacv1.Subject
		for range 1 + r.IntN(2) {
			bound = append(bound, subjects[r.IntN(len(subjects))])
		}
		meta := metav1.ObjectMeta{Name: name, Labels: labels}
		objects = append(objects, &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: meta, Rules: rules})
		if i%5 == 4 {
			// A RoleBinding gives no right in the whole cluster.
			meta.Namespace = "shop"
			objects = append(objects, &rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: meta, RoleRef: role, Subjects: bound})
			continue
		}
		objects = append(objects, &rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}, ObjectMeta: meta, RoleRef: role, Subjects: bound})
	}
	return objects, subjects
}

// command runs the program, and gives what it writes to standard output.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).Output()
	return string(out), err
}

// TestWhoCan holds what who-can says of each subject, from the cluster and from
// files of its objects, to what the API server answers to a SubjectAccessReview.
func TestWhoCan(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	objects, subjects := someRBAC(rand.New(rand.NewPCG(seed, 0)))
	var manifest strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		manifest.WriteString("---\n" + string(text))
	}
	if err := shared.Apply(t.Context(), manifest.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			if r := shared.Kubectl(ctx, root, "delete", "clusterrolebindings,rolebindings,clusterroles", "-A", "-l", "whocan=yes"); !r.OK() {
				return errors.New(r.String())
			}
			return nil
		})
	})
	file := filepath.Join(t.TempDir(), "rbac.json")
	r := shared.Kubectl(t.Context(), root, "get", "clusterroles,clusterrolebindings,roles,rolebindings", "-A", "-o", "json")
	want(t, r, true)
	if err := os.WriteFile(file, []byte(r.Stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	holders := 0
	for _, form := range []string{"name", "resource"} {
		for _, key := range []string{"kerberos", "spiffe"} {
			for _, value := range []string{"web", "db", "other"} {
				c := claimed{key, value, form}
				eventually(t, func() string {
					wrong, holds := differences(t, c, subjects, file)
					holders += holds
					return wrong
				})
			}
		}
	}
	if holders == 0 {
		t.Error("no rule gave anything to anybody, so that nothing was compared")
	}
}

func adminKubeconfig(t *testing.T) string {
	t.Helper()
	kubeconfig, err := shared.Kubeconfig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// differences compares the answers about one claim; RBAC that was just written
// needs a moment to come into force.
func differences(t *testing.T, c claimed, subjects []rbacv1.Subject, file string) (wrong string, holds int) {
	t.Helper()
	for _, from := range [][]string{{"--kubeconfig", adminKubeconfig(t)}, {"-p", file}} {
		out, err := command(t, append([]string{"who-can", c.key + "=" + c.value, "--form", c.form, "-o", "json"}, from...)...)
		// A role that no file holds leaves the answer open, which the status says.
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 2 || from[0] != "-p") {
			t.Fatalf("who-can: %v", err)
		}
		var answer struct {
			Holders []struct {
				Subject struct{ Kind, Namespace, Name string }
			}
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatal(err)
		}
		said := map[string]bool{}
		for _, h := range answer.Holders {
			said[h.Subject.Kind+" "+h.Subject.Namespace+" "+h.Subject.Name] = true
		}
		for _, s := range subjects {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: s.Name, ResourceAttributes: c.attributes()}}
			told := said[s.Kind+" "+s.Namespace+" "+s.Name]
			switch s.Kind {
			case "Group":
				review.Spec.User, review.Spec.Groups = "whocan-somebody", []string{s.Name}
			case "ServiceAccount":
				review.Spec.User = "system:serviceaccount:" + s.Namespace + ":" + s.Name
				told = told || said["User  "+review.Spec.User]
			case "User":
				if rest, ok := strings.CutPrefix(s.Name, "system:serviceaccount:shop:"); ok {
					told = told || said["ServiceAccount shop "+rest]
				}
			}
			answered, err := shared.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if answered.Status.Allowed {
				holds++
			}
			if told != answered.Status.Allowed {
				wrong += fmt.Sprintf("%s, %+v, %s %s: who-can says %v, the API server %v\n", from[0], c, s.Kind, s.Name, told, answered.Status.Allowed)
			}
		}
	}
	return wrong, holds
}

// TestIdentitiesCommand lists what carries an identity in a cluster, and says
// what the one who asks may not list.
func TestIdentitiesCommand(t *testing.T) {
	manifest := `
apiVersion: v1
kind: Namespace
metadata: {name: identities}
---
apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: whocan-kerberos}
spec: {key: kerberos, podAnnotation: {}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: whocan-auditor}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list]}
- {apiGroups: [sallyport.io], resources: [identitysources], verbs: [list]}
- {apiGroups: [rbac.authorization.k8s.io], resources: ["*"], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: whocan-auditor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: whocan-auditor}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
` + strings.NewReplacer("namespace: dev", "namespace: identities", "replicas: 0", "replicas: 1", "metadata: {labels:", "metadata: {annotations: {kerberos: web}, labels:").Replace(deploymentOf("web", "web:1", ""))
	if err := shared.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			if r := shared.Kubectl(ctx, root, "delete", "--wait=false", "identitysource/whocan-kerberos", "clusterrolebinding/whocan-auditor", "clusterrole/whocan-auditor", "namespace/identities"); !r.OK() {
				return errors.New(r.String())
			}
			return nil
		})
	})
	eventually(t, func() string {
		out, err := command(t, "identities", "-n", "identities", "--kubeconfig", adminKubeconfig(t))
		for _, says := range []string{"Deployment identities/web, Pod identities/web-", ", ReplicaSet identities/web-", "kerberos=web  (IdentitySource whocan-kerberos, spec.template.metadata.annotations.kerberos)", "Group developers may exec into it", "rule 0 {verbs:"} {
			if err != nil || !strings.Contains(out, says) {
				return fmt.Sprintf("%q is not in %v\n%s", says, err, out)
			}
		}
		return ""
	})
	carols, err := shared.Kubeconfig(t.Context(), "carol")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		out, err := exec.CommandContext(t.Context(), binary, "identities", "-n", "identities", "--kubeconfig", carols).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not known: what carries an identity among deployments.apps: they cannot be listed: ") || !strings.Contains(string(out), "Pod identities/web-") {
			return string(out)
		}
		return ""
	})
}
