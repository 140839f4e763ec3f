package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// The people of the tests of identities. In the namespace of a test each of them
// may do everything; they differ in the identities that they may use. employee is
// the document's and may use none; halfHolder may use only kerberos, holder both.
const (
	employee   = "employee-10"
	holder     = "holder"
	halfHolder = "half-holder"
)

var identityUsers = []lab.User{
	{Name: employee, UID: "uid-10", Groups: []string{"staff"}},
	{Name: holder, Groups: []string{"staff"}},
	{Name: halfHolder, Groups: []string{"staff"}},
}

// The identities of document "Validated Pod Annotations", and the annotations
// that claim them.
const (
	gcpKey, gcpValue           = "cloud.google.com/serviceaccount", "gcs@mycompany.gserviceaccount.com"
	kerberosKey, kerberosValue = "kerberos", "legacy-frontend-app"

	noClaim      = "{}"
	kerberos     = "{" + kerberosKey + ": " + kerberosValue + "}"
	bothClaims   = "{" + gcpKey + ": " + gcpValue + ", " + kerberosKey + ": " + kerberosValue + "}"
	ownNamespace = "NAMESPACE"
)

func sourceOf(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

var documentSources = sourceOf("kerberos", "{key: kerberos, podAnnotation: {}}") +
	sourceOf("gcp", "{key: cloud.google.com/serviceaccount, podAnnotation: {}}")

// identityRoles are the identities' roles, and what Sallyport has to read to know
// who owns a pod.
const identityRoles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: use-gcp}
rules: [{apiGroups: [authorization.k8s.io], resources: [validatedannotations/gcs@mycompany.gserviceaccount.com], resourceNames: [cloud.google.com/serviceaccount], verbs: [use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: use-kerberos}
rules: [{apiGroups: [authorization.k8s.io], resources: [validatedannotations/legacy-frontend-app], resourceNames: [kerberos], verbs: [use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: use-gcp}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use-gcp}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: holder}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: use-kerberos}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use-kerberos}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: holder}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: half-holder}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sallyport-owners}
rules: [{apiGroups: ["", apps, batch, argoproj.io], resources: [replicationcontrollers, podtemplates, deployments, replicasets, statefulsets, daemonsets, controllerrevisions, jobs, cronjobs, rollouts], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sallyport-owners}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-owners}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + lab.SallyportUser + `}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: staff, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: staff}]
`

// identityOptions say what newIdentityLabWith wires. The zero value is that of
// newIdentityLab.
type identityOptions struct {
	// door is bothDoors when it is empty.
	door string
	// sources are those of the document when there are none.
	sources string
	// objects are in the cluster when Sallyport is wired to it.
	objects string
	// authorizer is asked between Sallyport and RBAC, where there is one.
	authorizer *reviewer
}

// identityLab is a namespace with people, and a Sallyport at the doors that takes
// the sources of identities from the API server.
type identityLab struct {
	*testing.T
	s         *lab.Sallyport
	namespace string
	audit     string
}

func newIdentityLab(t *testing.T) *identityLab {
	t.Helper()
	return newIdentityLabWith(t, identityOptions{})
}

func newIdentityLabWith(t *testing.T, o identityOptions) *identityLab {
	t.Helper()
	if o.door == "" {
		o.door = bothDoors
	}
	if o.sources == "" {
		o.sources = documentSources
	}
	plain := strings.NewReplacer("/", "-", " ", "-", "_", "-").Replace(strings.ToLower(t.Name()))
	l := &identityLab{T: t, namespace: fmt.Sprintf("%.40s-%d", plain, time.Now().UnixMilli()), audit: filepath.Join(t.TempDir(), "audit.jsonl")}
	if err := shared.CreateNamespace(t.Context(), l.namespace, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		shared.Kubectl(ctx, root, "delete", "identitysources", "--all", "--ignore-not-found")
		shared.Kubectl(ctx, root, "delete", "namespace", l.namespace, "--wait=false")
	})
	l.given(identityRoles + "---\n" + o.objects)
	l.awaitUse(holder, gcpKey, gcpValue)
	l.awaitUse(halfHolder, kerberosKey, kerberosValue)
	l.await("yes", employee, "auth", "can-i", "create", "pods")

	var err error
	l.s, err = shared.StartSallyport(t.Context(), lab.SallyportOptions{
		Binary: binary, Name: l.namespace, Args: []string{"--watch-policies", "--cluster-name", "prod-lab", "--audit-log", l.audit},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(l.s.Log())
		}
	})
	l.wire(o.door, o.authorizer)
	l.given(o.sources)
	l.await("condition met", root, "wait", "identitysources", "--all", "--for=condition=Ready", "--timeout=30s")
	return l
}

// wire puts Sallyport, and behind it an authorizer where there is one, into the
// API server until the test ends.
func (l *identityLab) wire(door string, authorizer *reviewer) {
	l.Helper()
	var further []apiserverv1.AuthorizerConfiguration
	if authorizer != nil {
		further = append(further, authorizer.configuration(l.T))
	}
	l.Cleanup(func() { unwire(l.T, shared.UnwireAccess) })
	switch {
	case door != admissionDoor:
		if err := shared.WireAccess(l.Context(), l.s, wiring.Authorizer{}, further...); err != nil {
			l.Fatal(err)
		}
	case authorizer != nil:
		if err := shared.SetAuthorization(l.Context(), aheadOfRBAC(l.T, further)); err != nil {
			l.Fatal(err)
		}
	}
	if door != accessDoor {
		l.Cleanup(func() { unwire(l.T, shared.UnwireAdmission) })
		l.wireAdmission()
	}
}

// wireAdmission wires the front door, for the custom kind of the tests as well.
func (l *identityLab) wireAdmission() {
	l.Helper()
	err := shared.WireAdmission(l.Context(), l.s, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range config.Webhooks {
			if config.Webhooks[i].Name == "pods.sallyport.io" {
				config.Webhooks[i].Rules = append(config.Webhooks[i].Rules, admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"argoproj.io"}, APIVersions: []string{"*"}, Resources: []string{"rollouts"}},
				})
			}
		}
	})
	if err != nil {
		l.Fatal(err)
	}
}

// run is a subtest in the same namespace.
func (l *identityLab) run(name string, test func(l *identityLab)) {
	l.Helper()
	l.T.Run(name, func(t *testing.T) {
		test(&identityLab{T: t, s: l.s, namespace: l.namespace, audit: l.audit})
	})
}

// do runs kubectl in the namespace of the test.
func (l *identityLab) do(user string, args ...string) lab.Result {
	return l.feed(user, "", args...)
}

// feed runs kubectl in the namespace of the test with a manifest, if there is
// one.
func (l *identityLab) feed(user, manifest string, args ...string) lab.Result {
	args = append([]string{"--namespace", l.namespace}, args...)
	if manifest != "" {
		args = append(args, "-f", "-")
	}
	return l.bounded(lab.Kubectl{User: user, Args: args, Stdin: strings.NewReader(l.inside(manifest))})
}

// bounded runs kubectl and ends it where it was let in to stay.
func (l *identityLab) bounded(k lab.Kubectl) lab.Result {
	ctx, cancel := context.WithTimeout(l.Context(), waitLimit)
	defer cancel()
	return shared.Run(ctx, k)
}

// inside writes the test's namespace where text leaves it open.
func (l *identityLab) inside(text string) string {
	return strings.ReplaceAll(text, ownNamespace, l.namespace)
}

// given applies manifests as a member of system:masters, who may use everything.
func (l *identityLab) given(manifest string) {
	l.Helper()
	want(l.T, l.feed(root, manifest, "apply"), true)
}

func (l *identityLab) allowed(r lab.Result, says ...string) {
	l.Helper()
	want(l.T, r, true, says...)
}

// refused wants kubectl to have been refused for lack of an identity.
func (l *identityLab) refused(r lab.Result, says ...string) {
	l.Helper()
	want(l.T, r, false, says...)
}

// runningPods creates pods as root and waits until they run.
func (l *identityLab) runningPods(manifest string, names ...string) {
	l.Helper()
	l.given(manifest)
	if err := shared.AwaitRunning(l.Context(), l.namespace, names...); err != nil {
		l.Fatal(err)
	}
}

// await waits until kubectl prints this.
func (l *identityLab) await(says, user string, args ...string) {
	l.Helper()
	eventually(l.T, func() string {
		if r := l.do(user, args...); !r.OK() || !strings.Contains(r.Stdout, says) {
			return fmt.Sprintf("kubectl %s says not %q: %s", strings.Join(args, " "), says, r)
		}
		return ""
	})
}

// get is a field of an object as root reads it.
func (l *identityLab) get(object, jsonpath string) string {
	l.Helper()
	r := l.do(root, "get", object, "-o", "jsonpath="+jsonpath)
	if !r.OK() {
		l.Fatal(r)
	}
	return r.Stdout
}

// exec is a run of a command in a pod or in a pod of a workload.
func (l *identityLab) exec(user, target string, env ...string) lab.Result {
	return l.bounded(lab.Kubectl{User: user, Env: env, Args: []string{"exec", "-n", l.namespace, target, "--", "echo", "inside"}})
}

// awaitFile waits until a file that Sallyport writes holds this.
func (l *identityLab) awaitFile(name string, says ...string) {
	l.Helper()
	eventually(l.T, func() string {
		content, err := os.ReadFile(name)
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(string(content)) {
			missing := false
			for _, text := range says {
				missing = missing || !strings.Contains(line, text)
			}
			if !missing {
				return ""
			}
		}
		return fmt.Sprintf("no line of %s holds %q:\n%s", name, says, content)
	})
}
