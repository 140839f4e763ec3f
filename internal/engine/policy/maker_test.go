package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/call"
)

// TestCirclesOfOwners has a controller stand for its owner only where no one wrote the
// references of the owner by hand.
func TestCirclesOfOwners(t *testing.T) {
	files, set := identityCluster(t), identitySet(t)
	mark := strings.TrimPrefix(marked(frontend), ", ")
	owner := func(kind, name string, refs string) string {
		return makerYAML("apps/v1", kind, name, ", uid: uid-"+name+", "+mark+refs, claimed, "app:1")
	}
	by := func(kind, name string) string { return ownerRef("apps/v1", kind, name, "uid-"+name) }
	long := map[string]string{}
	for _, link := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "jk"} {
		long["Deployment shop/"+link[:1]] = owner("Deployment", link[:1], by("Deployment", link[1:]))
	}
	long["ReplicaSet shop/web"] = owner("ReplicaSet", "web", by("Deployment", "a"))
	for _, c := range []struct {
		name  string
		state map[string]string
		want  string
		says  string
	}{
		{"no further owner", map[string]string{"ReplicaSet shop/web": owner("ReplicaSet", "web", "")}, "pass", ""},
		{"a further owner", map[string]string{
			"ReplicaSet shop/web": owner("ReplicaSet", "web", by("Deployment", "web2")), "Deployment shop/web2": owner("Deployment", "web2", ""),
		}, "pass", ""},
		{"a further owner that is gone", map[string]string{"ReplicaSet shop/web": owner("ReplicaSet", "web", by("Deployment", "web2"))}, "pass", ""},
		{"its owner is owned by itself", map[string]string{"ReplicaSet shop/web": owner("ReplicaSet", "web", by("ReplicaSet", "web"))}, "fail", "its own owner"},
		{"its owner is owned by what it owns", map[string]string{
			"ReplicaSet shop/web": owner("ReplicaSet", "web", by("Deployment", "web2")), "Deployment shop/web2": owner("Deployment", "web2", by("ReplicaSet", "web")),
		}, "fail", "its own owner"},
		{"more owners than any controller makes", long, "fail", "its own owner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := childPod(ownedBy("apps/v1", "ReplicaSet", "web", "uid-web"), claimed)
			d := set.Decide(t.Context(), asked(t, owned{files, c.state}, kubeSystem+"replicaset-controller", "pods", "", "", pod))
			if got := summary(d); got != "kerberos/use "+c.want || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q: %s; want %s with %q", got, messages(d), c.want, c.says)
			}
		})
	}
}

// TestAccountsOfControllers tells of the flag for a shared account only who uses that
// account.
func TestAccountsOfControllers(t *testing.T) {
	set := identitySet(t)
	state := owned{identityCluster(t), map[string]string{}}
	pod := childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), claimed)
	for user, want := range map[string]bool{stranger: false, kubeSystem + "job-controller": false, call.SharedAccount: true} {
		d := set.Decide(t.Context(), asked(t, state, user, "pods", "", "", pod))
		if got := strings.Contains(messages(d), "--shared-controller-account"); got != want || !d.Refuses() {
			t.Errorf("%s: %s", user, messages(d))
		}
	}
}

// TestControllersMakeRevisions has the controller of a StatefulSet make a revision of what
// was judged, of which no label says which revision it is.
func TestControllersMakeRevisions(t *testing.T) {
	state := owned{identityCluster(t), map[string]string{"StatefulSet shop/web": makerYAML("apps/v1", "StatefulSet", "web", ", uid: sts-uid"+marked(frontend), claimed, "app:1")}}
	revision := makerYAML("apps/v1", "ControllerRevision", "web-1", ownerRef("apps/v1", "StatefulSet", "web", "sts-uid"), claimed, "app:1")
	d := identitySet(t).Decide(t.Context(), asked(t, state, kubeSystem+"statefulset-controller", "controllerrevisions", "", "", revision))
	if got := summary(d); got != "kerberos/use pass" || d.Refuses() {
		t.Errorf("%q: %s", got, messages(d))
	}
}
