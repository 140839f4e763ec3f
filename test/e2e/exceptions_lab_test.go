package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// The policies and the objects of document "Policy Exceptions", with our
// apiVersion.
const (
	documentPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata:
  name: disallow-latest-tag
spec:
  validationFailureAction: enforce
  background: true
  rules:
    - name: validate-image-tag
      match:
        resources:
          kinds:
            - Deployment
      validate:
        message: "Using a mutable image tag e.g. 'latest' is not allowed."
        pattern:
          spec:
            template:
              spec:
                containers:
                  - image: "!*:latest"
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata:
  name: require-labels
spec:
  validationFailureAction: Enforce
  rules:
    - name: check-for-labels
      match:
        any:
          - resources:
              kinds:
                - Pod
              namespaces: [dev]
      validate:
        message: "label 'app.kubernetes.io/name' is required"
        pattern:
          metadata:
            labels:
              app.kubernetes.io/name: "?*"
`
	documentRequest = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionRequest
metadata:
  name: allow-tag-for-test
  namespace: dev
spec:
  exceptions:
    - policyName: disallow-latest-tag
      ruleNames:
        - validate-image-tag
  reason: allow-latest-tag-for-test
  exclude:
    all:
      - name: test
        kind:
          - Deployment
        namespace:
          - dev
`
	workflowRoles = `
apiVersion: v1
kind: Namespace
metadata: {name: dev}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: policy-user}
rules:
- {apiGroups: [sallyport.io], resources: [policyexceptionrequests, policyexceptions, policyexceptionrequests/status], verbs: ["*"]}
- {apiGroups: [apps], resources: [deployments], verbs: ["*"]}
- {apiGroups: [""], resources: [pods], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: policy-users, namespace: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: policy-user}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: policy-admin}
rules:
- {apiGroups: [sallyport.io], resources: [policyexceptionresponses, policyexceptionrequests], verbs: ["*"]}
- {apiGroups: [sallyport.io], resources: [clusterpolicies], resourceNames: [disallow-latest-tag, require-labels], verbs: [approve]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: policy-admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: policy-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: answers-only}
rules:
- {apiGroups: [sallyport.io], resources: [policyexceptionresponses, policyexceptionrequests], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: answers-only}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: answers-only}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`
)

// workflowLab is a cluster with policies, people and a Sallyport that takes all
// of it from the API server.
type workflowLab struct {
	*testing.T
	s *lab.Sallyport
}

func newWorkflowLab(t *testing.T) *workflowLab {
	t.Helper()
	name := strings.ToLower(t.Name())
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name, Args: []string{"--watch-policies"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &workflowLab{t, s}
	t.Cleanup(func() {
		unwire(t, shared.UnwireAdmission)
		// The context of the test has ended by now.
		ctx := context.WithoutCancel(t.Context())
		for _, kind := range []string{"policyexceptions", "policyexceptionrequests"} {
			shared.Kubectl(ctx, root, "delete", kind, "--all", "-A", "--ignore-not-found")
		}
		for _, kind := range []string{"clusterpolicies", "policyexceptionresponses", "exceptionpolicies", "clusterpolicyexceptions"} {
			shared.Kubectl(ctx, root, "delete", kind, "--all", "--ignore-not-found")
		}
		shared.Kubectl(ctx, root, "delete", "deployments", "--all", "-n", "dev", "--ignore-not-found")
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	w.apply(root, workflowRoles)
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	w.apply(root, documentPolicies)
	w.await(root, "True", "get", "clusterpolicies", "disallow-latest-tag", "require-labels", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
	return w
}

// do runs kubectl with a manifest.
func (w *workflowLab) do(user, manifest string, args ...string) lab.Result {
	w.Helper()
	return shared.Run(w.Context(), lab.Kubectl{User: user, Args: append(args, "-f", "-"), Stdin: strings.NewReader(manifest)})
}

func (w *workflowLab) apply(user, manifest string) {
	w.Helper()
	want(w.T, w.do(user, manifest, "apply"), true)
}

// refused wants a manifest to be refused, with these words.
func (w *workflowLab) refused(user, verb, manifest string, says ...string) {
	w.Helper()
	want(w.T, w.do(user, manifest, verb), false, says...)
}

// await waits until kubectl prints this.
func (w *workflowLab) await(user, says string, args ...string) {
	w.Helper()
	eventually(w.T, func() string {
		r := shared.Kubectl(w.Context(), user, args...)
		if !r.OK() || !strings.Contains(r.Stdout, says) {
			return r.String()
		}
		return ""
	})
}

// state waits for the state of the request.
func (w *workflowLab) state(says string) {
	w.Helper()
	w.await("dave", says, "get", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test", "-o", "jsonpath={.status.state} {.status.reason} {.status.approver}")
}

// version is a field of the request as dave reads it.
func (w *workflowLab) version(field string) string {
	w.Helper()
	r := shared.Kubectl(w.Context(), "dave", "get", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test", "-o", "jsonpath={.metadata."+field+"}")
	if !r.OK() {
		w.Fatal(r)
	}
	return r.Stdout
}

func responseOf(name, status, more string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionResponse
metadata: {name: %s}
spec:
  approvalPolicy: manual
  name: allow-tag-for-test
  status: %s
  reason: because of %s
%s`, name, status, name, more)
}

func deploymentOf(name, image, labels string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: dev}
spec:
  replicas: 0
  selector: {matchLabels: {app: test}}
  template:
    metadata: {labels: {app: test%s}}
    spec: {containers: [{name: test, image: "%s"}]}
`, name, labels, image)
}

const named = ", app.kubernetes.io/name: test"
