package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestExceptionStory is the user story of document "Policy Exceptions", a to i.
func TestExceptionStory(t *testing.T) {
	w := newWorkflowLab(t)
	latest := deploymentOf("test", "test:latest", named)
	w.refused(alice, "create", latest, "Using a mutable image tag e.g. 'latest' is not allowed", "spec.template.spec.containers[0].image", "test:latest", "PolicyExceptionRequest")

	w.apply(alice, documentRequest)
	w.state("Pending")
	w.await("dave", "alice", "get", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test", "-o", "jsonpath={.spec.requesters}")

	w.apply("dave", responseOf("refusal", "Denied", ""))
	w.state("Denied because of refusal dave")
	w.refused(alice, "create", latest, "disallow-latest-tag")

	w.apply(alice, strings.Replace(documentRequest, "allow-latest-tag-for-test", "the registry has no other tag before Monday", 1))
	w.state("Pending")

	// What was read before is not what is there now.
	stale := w.version("resourceVersion")
	w.apply(alice, strings.Replace(documentRequest, "allow-latest-tag-for-test", "the registry has no other tag before Tuesday", 1))
	w.refused("dave", "create", responseOf("stale", "Approved", "  requestResourceVersion: \""+stale+"\"\n"), "has changed since it was read")
	w.refused("dave", "create", responseOf("blind", "Approved", ""), "does not say which version of the request was read")
	w.apply("dave", responseOf("approval", "Approved", fmt.Sprintf("  requestUID: %s\n  requestGeneration: %s\n", w.version("uid"), w.version("generation"))))
	w.state("Approved because of approval dave")
	w.await("dave", `dave ["alice"] {"all":[{"kind":["Deployment"],"name":["test"],"namespace":["dev"]}]}`, "get", "policyexceptionresponse", "approval", "-o", "jsonpath={.spec.approver} {.spec.requesters} {.spec.exclude}")

	w.refused(alice, "apply", strings.Replace(documentRequest, "allow-latest-tag-for-test", "more", 1), "is approved by PolicyExceptionResponse approval")
	eventually(t, func() string {
		if r := w.do(alice, latest, "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.apply(alice, latest)
	w.refused(alice, "create", deploymentOf("elsewhere", "test:latest", named), "disallow-latest-tag")
	// Another policy still blocks what the exception does not name.
	w.refused(alice, "create", deploymentOf("test2", "test:1", ""), "label 'app.kubernetes.io/name' is required")
	want(t, shared.Kubectl(t.Context(), alice, "delete", "deployment", "-n", "dev", "test"), true)

	want(t, shared.Kubectl(t.Context(), alice, "delete", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test"), true)
	eventually(t, func() string {
		if r := w.do(alice, latest, "create", "--dry-run=server"); r.OK() {
			return "it is still let in"
		}
		return ""
	})
}

// TestExceptionSecurity tries the ways around.
func TestExceptionSecurity(t *testing.T) {
	w := newWorkflowLab(t)
	w.apply("carol", documentRequest)
	w.state("Pending")
	versions := fmt.Sprintf("  requestUID: %s\n  requestGeneration: %s\n", w.version("uid"), w.version("generation"))

	t.Run("one's own request", func(*testing.T) {
		w.refused("carol", "create", responseOf("self", "Approved", versions), "carol, who asked for it")
	})
	t.Run("without approve on the policy", func(*testing.T) {
		w.refused(alice, "create", responseOf("unauthorized", "Approved", versions), "needs the verb approve on clusterpolicies.sallyport.io", "disallow-latest-tag")
	})
	t.Run("a forged approver is replaced", func(*testing.T) {
		r := w.do("dave", responseOf("forged", "Denied", "  approver: root\n  requesters: [mallory]\n"), "create", "--dry-run=server", "-o", "jsonpath={.spec.approver} {.spec.requesters}")
		want(w.T, r, true, `dave ["carol"]`)
	})
	t.Run("forged requesters are replaced", func(*testing.T) {
		r := w.do(alice, strings.Replace(documentRequest, "  reason:", "  requesters: [mallory]\n  reason:", 1), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "jsonpath={.spec.requesters}")
		want(w.T, r, true, "carol")
		if strings.Contains(r.Stdout, "mallory") {
			w.Error(r)
		}
	})
	t.Run("Pending is not an answer", func(*testing.T) {
		w.refused("dave", "create", responseOf("pending", "Pending", versions), "Pending")
	})
	t.Run("nothing to answer", func(*testing.T) {
		w.refused("dave", "create", strings.Replace(responseOf("nothing", "Approved", versions), "name: allow-tag-for-test", "name: nothing", 1), "there is no PolicyExceptionRequest")
	})
	t.Run("automatically by a user", func(*testing.T) {
		w.refused("dave", "create", strings.Replace(responseOf("auto", "Approved", versions), "manual", "Automatic", 1), "is for what Sallyport answers by itself")
	})
	t.Run("status", func(*testing.T) {
		r := shared.Kubectl(t.Context(), alice, "patch", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test", "--subresource=status", "--type=merge", "-p", `{"status":{"state":"Approved"}}`)
		want(w.T, r, false, "is written only by Sallyport")
	})
	t.Run("an exception that reaches elsewhere", func(*testing.T) {
		w.refused(alice, "create", `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: wide, namespace: dev}
spec:
  exceptions: [{policyName: disallow-latest-tag}]
  match: {any: [{resources: {kinds: [Deployment], namespaces: [other]}}]}
`, "spec.match.any[0].resources.namespaces[0]")
	})
	t.Run("an exception for everything", func(*testing.T) {
		w.refused(alice, "create", `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: all, namespace: dev}
spec:
  exceptions: [{policyName: "*"}]
  match: {}
`, "spec.match", "spec.exceptions[0].policyName")
	})
	t.Run("an end in the past", func(*testing.T) {
		w.refused(alice, "create", `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: past, namespace: dev}
spec:
  exceptions: [{policyName: disallow-latest-tag}]
  match: {any: [{resources: {kinds: [Deployment]}}]}
  expiresAt: "2020-01-01T00:00:00Z"
`, "is in the past")
	})
	t.Run("a policy that is not there is warned about", func(*testing.T) {
		r := w.do(bob, `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: later, namespace: dev}
spec:
  exceptions: [{policyName: to-come}]
  match: {any: [{resources: {kinds: [Deployment]}}]}
`, "create", "-o", `jsonpath={.metadata.annotations}`)
		want(w.T, r, true, "Warning", `names the policy "to-come", which is not there`, `"sallyport.io/created-by":"bob"`)
	})
	t.Run("two answers, and one that is changed", func(*testing.T) {
		w.apply("dave", responseOf("first", "Approved", versions))
		w.refused("dave", "create", responseOf("second", "Denied", ""), "is answered already, by PolicyExceptionResponse first")
		r := shared.Kubectl(t.Context(), "dave", "patch", "policyexceptionresponse", "first", "--type=merge", "-p", `{"spec":{"exclude":{"all":[{"resources":{"kinds":["*"]}}]}}}`)
		want(w.T, r, false, "an answer cannot be changed once it is made")
	})
}

// TestAutomaticApproval answers by itself what an ExceptionPolicy approves, and
// nothing else.
func TestAutomaticApproval(t *testing.T) {
	w := newWorkflowLab(t)
	w.apply(root, `
apiVersion: sallyport.io/v1alpha1
kind: ExceptionPolicy
metadata: {name: short}
spec:
  policies: [disallow-latest-tag]
  maxDuration: 30d
  approvalPolicy: Automatic
  approvalCondition: "request.spec.reason.contains('test')"
`)
	w.await(root, "True", "get", "exceptionpolicy", "short", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	w.refused(alice, "create", documentRequest, "give duration or expiresAt, at most 30d")
	w.apply(alice, documentRequest+"  duration: 1d\n")
	w.state("Approved approved automatically by ExceptionPolicy short sallyport")
	eventually(t, func() string {
		if r := w.do(alice, deploymentOf("test", "test:latest", named), "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
}
