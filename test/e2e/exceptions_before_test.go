package e2e

import (
	"strings"
	"testing"
)

// TestWhatStandsFromBefore is about exceptions that were written while nobody was
// asked.
func TestWhatStandsFromBefore(t *testing.T) {
	w := newWritingLab(t)
	unwire(t, shared.UnwireAdmission)
	w.apply(nsOwner, exceptionTo("before", "{policyName: baseline}, {policyName: kerberos}"))
	if err := shared.WireAdmission(t.Context(), w.s, nil); err != nil {
		t.Fatal(err)
	}
	w.letIn(nsOwner, powerfulPod)
	w.condition("before", "False NoOneApproved no one approved it for ClusterPolicy baseline, IdentitySource kerberos")
	w.sallyport("bob", "", true, []string{"no one approved it"}, "exceptions", "-n", "dev")
	// Applying it again, or labelling it, approves nothing.
	want(t, w.do("dave", exceptionTo("before", "{policyName: baseline}, {policyName: kerberos}"), "apply"), true)
	want(t, shared.Kubectl(t.Context(), root, "label", "policyexception", "-n", "dev", "before", "seen=yes"), true)
	w.condition("before", "False NoOneApproved")
	want(t, shared.Kubectl(t.Context(), nsOwner, "patch", "policyexception", "-n", "dev", "before", "--type=merge", "-p", `{"spec":{"reason":"because"}}`), false, "may not write it")

	w.apply(root, exceptionPolicy("old", `{policies: [kerberos], policyKinds: [IdentitySource], unapprovedUntil: "2026-01-01T00:00:00Z"}`))
	w.keptOut(nsOwner, powerfulPod, "kerberos", "PolicyException dev/before does not excuse it: no one approved it, and ExceptionPolicy old")
	w.letIn(nsOwner, strings.Replace(powerfulPod, ", annotations: {kerberos: payments}", "", 1))
	w.apply(root, exceptionPolicy("old", `{policies: ["*"], unapprovedUntil: "2126-01-01T00:00:00Z"}`))
	w.letIn(nsOwner, powerfulPod)
	w.condition("before", "it counts until 2126-01-01T00:00:00Z, as ExceptionPolicy old says")

	// Who may approves what stands, by the annotation, and nobody else does.
	annotate := []string{"annotate", "--overwrite", "policyexception", "-n", "dev", "before", "sallyport.io/approval=please"}
	want(t, shared.Kubectl(t.Context(), nsOwner, annotate...), true)
	w.condition("before", "False NoOneApproved")
	w.apply(root, exceptionPolicy("identities", `{policies: [kerberos], policyKinds: [IdentitySource], writing: approve}`))
	eventually(t, func() string {
		shared.Kubectl(t.Context(), "dave", annotate...)
		r := shared.Kubectl(t.Context(), root, "get", "policyexception", "-n", "dev", "before", "-o", `jsonpath={.metadata.annotations.sallyport\.io/approval} {.metadata.annotations.sallyport\.io/created-by}`)
		if !strings.Contains(r.Stdout, `"by":"dave"`) {
			return r.String()
		}
		return ""
	})
	w.condition("before", "True Approved approved by dave")
	w.apply(root, exceptionPolicy("old", `{policies: ["*"], unapprovedUntil: "2026-01-01T00:00:00Z"}`))
	w.condition("before", "True Approved approved by dave")
	w.letIn(nsOwner, powerfulPod)
}
