package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/test/lab"
)

// asksAbout has somebody with the right to ask about others ask whether alice may get
// into a pod, as the API server does.
func asksAbout(t *testing.T, pod string) lab.Result {
	t.Helper()
	w := &workflowLab{T: t}
	return w.do(bob, `
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: alice
  groups: [developers, "system:authenticated"]
  resourceAttributes: {verb: create, resource: pods, subresource: exec, namespace: shop, name: `+pod+`}
`, "create", "-o", "jsonpath={.status.allowed}")
}

// withEphemeral is a pod of the namespace shop with an ephemeral container more.
func withEphemeral(t *testing.T, pod string) string {
	t.Helper()
	r := shared.Kubectl(t.Context(), root, "get", "pod", pod, "-n", "shop", "-o", "json")
	p := &corev1.Pod{}
	if err := json.Unmarshal([]byte(r.Stdout), p); err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "tools-dry", Image: "tools:1"},
	})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func entered(s *v1alpha1.BreakglassSession) []string {
	var names []string
	for _, p := range s.Status.Entered {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// TestQuestionsAreNotEntries has nothing that the side door hears count as an entry, nor
// a dry run; what the front door lets in does.
func TestQuestionsAreNotEntries(t *testing.T) {
	w := newBreakglassLab(t)
	want(t, shared.Kubectl(t.Context(), root, "patch", "clusterrole", "cluster-ops", "--type=json", "-p", `[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["pods/exec","pods/ephemeralcontainers"],"verbs":["create","get","patch","update"]}}]`), true)
	name := w.ask()
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	canI := func() lab.Result {
		return shared.Kubectl(t.Context(), alice, "auth", "can-i", "create", "pods/privileged", "--subresource=exec", "-n", "shop")
	}
	w.until(canI, true, "yes")
	want(t, asksAbout(t, "privileged"), true, "true")
	want(t, shared.Kubectl(t.Context(), alice, "auth", "can-i", "list", "secrets", "-n", "shop"), true, "yes")
	want(t, shared.Kubectl(t.Context(), alice, "get", "secrets", "-n", "shop"), true)
	// The group may do this as well; nothing is changed by it.
	want(t, shared.Run(t.Context(), lab.Kubectl{
		User: alice, Args: []string{"replace", "--raw", "/api/v1/namespaces/shop/pods/privileged/ephemeralcontainers?dryRun=All", "-f", "-"},
		Stdin: strings.NewReader(withEphemeral(t, "privileged")),
	}), true, `"tools-dry"`)
	if s := w.session(name); s.Status.LastUsedAt != nil || len(s.Status.Entered) > 0 {
		t.Errorf("questions count: %+v", s.Status)
	}
	// What was asked before would be written down together with this.
	w.until(func() lab.Result { return execInto(t, alice, "shop", "web") }, true, "inside")
	eventually(t, func() string {
		execInto(t, alice, "shop", "web")
		if got := entered(w.session(name)); !slices.Contains(got, "web") {
			return "web is not among what was entered: " + w.s.Log()
		}
		return ""
	})
	s := w.session(name)
	if got := entered(s); !slices.Equal(got, []string{"web"}) || s.Status.LastUsedAt == nil || s.Status.Entered[0].UID == "" {
		t.Errorf("entered %v: %+v", got, s.Status)
	}
	want(t, shared.Kubectl(t.Context(), alice, "debug", "-n", "shop", "privileged", "--image=tools:1", "--container=tools"), true)
	eventually(t, func() string {
		if got := entered(w.session(name)); !slices.Equal(got, []string{"privileged", "web"}) {
			return "an ephemeral container does not count as an entry"
		}
		return ""
	})
	w.sallyport("carol", "", true, []string{"entered pod shop/web", "note: the API server gave no uid"}, "sessions", "--history")
}

// TestIdleThoughAskedInLab has a session end as idle though somebody goes on asking.
func TestIdleThoughAskedInLab(t *testing.T) {
	w := newBreakglassLab(t)
	patch := func(spec string) {
		t.Helper()
		want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":`+spec+`}`), true)
	}
	canI := func() lab.Result {
		return shared.Kubectl(t.Context(), alice, "auth", "can-i", "list", "secrets", "-n", "shop")
	}
	patch(`{"idleTimeout":"6s"}`)
	name := w.ask()
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	w.until(canI, true, "yes")
	w.until(canI, false, "no")
	// It is written down once no other replica can have seen it used.
	w.await(root, "IdleExpired", "get", "breakglasssession", name, "-o", "jsonpath={.status.state}")
	if s := w.session(name); s.Status.LastUsedAt != nil {
		t.Errorf("questions count as use: %+v", s.Status)
	}
	patch(`{"idleTimeout":"30s","idle":"authorizer"}`)
	name = w.ask()
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	eventually(t, func() string {
		canI()
		if s := w.session(name); s.Status.LastUsedAt == nil || len(s.Status.Entered) > 0 {
			return "questions do not count, though the escalation says so"
		}
		return ""
	})
}

// TestNoFrontDoor shows of a session in a cluster that is not said to have the front door
// that no one sees who enters, and approves nothing that needs to know it.
func TestNoFrontDoor(t *testing.T) {
	w := newBreakglassLab(t, "--doors", "access")
	name := w.ask()
	w.await(root, "Unknown", "get", "breakglasssession", name, "-o", "wide")
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	w.await(root, "NoFrontDoor", "get", "breakglasssession", name, "-o", "jsonpath={.status.conditions[?(@.type==\"EntriesKnown\")].reason}")
	w.sallyport("carol", "", true, []string{"unknown", "not said to have the front door"}, "sessions", "--history")
	want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":{"afterUse":{"action":"evict"}}}`), true)
	other := w.ask()
	w.sallyport("dave", "", false, []string{"has afterUse: evict", "not said to have"}, "approve", "session", other, "--yes")
	if s := w.session(other); s.Status.ApprovedAt != nil {
		t.Errorf("approved: %+v", s.Status)
	}
}
