package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/test/lab"
)

func (w *workflowLab) session(name string) *v1alpha1.BreakglassSession {
	w.Helper()
	r := shared.Kubectl(w.Context(), root, "get", "breakglasssession", name, "-o", "json")
	s := &v1alpha1.BreakglassSession{}
	if err := json.Unmarshal([]byte(r.Stdout), s); err != nil {
		w.Fatalf("%s: %v", r, err)
	}
	return s
}

// execAs goes into a pod as root who acts as somebody: the API server asks no authorizer
// about root, so that the user is whoever the test wants him to be.
func execAs(t *testing.T, pod string, as ...string) lab.Result {
	t.Helper()
	return shared.Kubectl(t.Context(), root, append(append([]string{"exec", "-n", "shop", pod}, as...), "--", "echo", "inside")...)
}

// TestWhoseSessionInLab asks at each use whether somebody may still have the session, and
// whether he is who asked.
func TestWhoseSessionInLab(t *testing.T) {
	w := newBreakglassLab(t)
	name := w.ask()
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	mine := []string{"--as", alice, "--as-group", "developers", "--as-group", "system:authenticated"}
	w.until(func() lab.Result { return execAs(t, "privileged", mine...) }, true, "inside")
	w.await(root, "NameOnly", "get", "breakglasssession", name, "-o", "jsonpath={.status.conditions[?(@.type==\"BoundToUID\")].reason}")

	t.Run("the group is lost", func(t *testing.T) {
		// The session still lets nobody in who is not in the group; what RBAC gives stays.
		out := execAs(t, "privileged", "--as", alice, "--as-group", "cluster-ops", "--as-group", "system:authenticated")
		want(t, out, false)
		want(t, shared.Kubectl(t.Context(), root, "auth", "can-i", "list", "secrets", "-n", "shop", "--as", alice, "--as-group", "others"), false, "no")
		want(t, shared.Kubectl(t.Context(), root, append([]string{"auth", "can-i", "list", "secrets", "-n", "shop"}, mine...)...), true, "yes")
	})
	t.Run("the escalation is for others now", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		patch := func(groups string) {
			t.Helper()
			want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":{"allowed":{"groups":["`+groups+`"]}}}`), true)
		}
		patch("seniors")
		w.until(func() lab.Result { return execInto(t, alice, "shop", "privileged") }, false, "BreakglassSession "+name+" does not count: alice is in none of the groups")
		patch("developers")
		w.until(func() lab.Result { return execInto(t, alice, "shop", "privileged") }, true, "inside")
	})
	t.Run("a uid", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		w.sallyport("dave", "", true, nil, "revoke", "session", name)
		account := append([]string{"--as-uid", "u-alice"}, mine...)
		manifest := strings.Replace(sessionOf("by-uid", alice, ""), "user: alice,", "", 1)
		want(t, w.do(root, manifest, append([]string{"create"}, account...)...), true)
		if uid := w.session("by-uid").Spec.UserUID; uid != "u-alice" {
			t.Fatalf("the uid is %q", uid)
		}
		w.sallyport("dave", "", true, nil, "approve", "session", "by-uid", "--yes")
		w.until(func() lab.Result { return execAs(t, "privileged", account...) }, true, "inside")
		want(t, execAs(t, "privileged", mine...), false, "knew alice by a uid when it was asked for, and gives none now")
		want(t, execAs(t, "privileged", append([]string{"--as-uid", "u-other"}, mine...)...), false, "knew alice by another uid")
		want(t, execInto(t, alice, "shop", "privileged"), false, "by a uid")
		w.await(root, "UID", "get", "breakglasssession", "by-uid", "-o", "jsonpath={.status.conditions[?(@.type==\"BoundToUID\")].reason}")
		w.sallyport("dave", "", true, nil, "revoke", "session", "by-uid")
	})
	t.Run("scheduled", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		name := w.ask("--at", "2020-01-01T00:00:00Z")
		w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
		w.until(func() lab.Result { return execAs(t, "privileged", mine...) }, true, "inside")
		want(t, execAs(t, "privileged", "--as", alice, "--as-group", "system:authenticated"), false)
	})
}

// TestSessionsAreNotBorrowed refuses to let anyone act as who holds a session, in each
// way in which the API server asks, and does not touch others.
func TestSessionsAreNotBorrowed(t *testing.T) {
	letAct(t)
	w := newBreakglassLab(t)
	const refused = "holds the active BreakglassSession"
	asAlice := func(user string) lab.Result {
		return lists(t, user, "pods", "--as", alice, "--as-group", "developers")
	}
	name := w.ask()
	want(t, asAlice("dave"), true)
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	for _, who := range []struct{ name, user string }{{"of old", "dave"}, {"by kind", "carol"}, {"one who may do everything", bob}} {
		t.Run(who.name, func(t *testing.T) {
			w := &workflowLab{t, w.s}
			w.until(func() lab.Result { return asAlice(who.user) }, false, refused)
			want(t, lists(t, who.user, "pods", "--as", alice, "--as-group", "developers", "--as-group", "a", "--as-group", "b", "--as-group", "c"), false, refused)
			want(t, lists(t, who.user, "pods", "--as", alice+"-of-no-session", "--as-group", "developers"), true)
			want(t, lists(t, who.user, "pods", "--as", "w-"+who.user, "--as-group", "developers", "--as-group", "a", "--as-group", "b", "--as-group", "c"), true)
			want(t, lists(t, who.user, "pods", "--as", "system:serviceaccount:shop:default"), true)
		})
	}
	t.Run("over", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		w.sallyport("dave", "", true, nil, "revoke", "session", name)
		w.until(func() lab.Result { return asAlice("dave") }, true)
	})
	t.Run("allowed", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":{"allowImpersonation":true}}`), true)
		name := w.ask()
		w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
		w.until(func() lab.Result {
			return lists(t, "dave", "secrets", "--as", alice, "--as-group", "developers")
		}, true)
		w.await(root, "Allowed", "get", "breakglasssession", name, "-o", "jsonpath={.status.conditions[?(@.type==\"ImpersonationRefused\")].reason}")
	})
	t.Run("a service account", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		account := "system:serviceaccount:shop:default"
		want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":{"allowImpersonation":false,"allowed":{"groups":["system:serviceaccounts:shop"]}}}`), true)
		manifest := strings.Replace(sessionOf("of-an-account", account, ""), "user: "+account+",", "", 1)
		w.until(func() lab.Result { return w.do(root, manifest, "create", "--as", account) }, true, "created")
		w.sallyport("dave", "", true, nil, "approve", "session", "of-an-account", "--yes")
		for _, user := range []string{"dave", "carol"} {
			w.until(func() lab.Result { return lists(t, user, "pods", "--as", account) }, false, refused)
		}
		want(t, lists(t, "dave", "pods", "--as", "system:serviceaccount:monitoring:default"), false, "cannot list")
	})
}
