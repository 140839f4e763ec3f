package policyserver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// move has a policy name another server.
func (l *lab) move(name, to string) {
	l.Helper()
	p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", name)
	p.Spec.PolicyServer = to
	p.Generation++
	if err := l.client.Update(l.Context(), p); err != nil {
		l.Fatal(err)
	}
}

// atServer is a lab in which a server judges by the policy a. takes has this Sallyport
// itself judge by policies.
func atServer(t *testing.T) (l *lab, takes *bool) {
	t.Helper()
	l = newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	takes = new(bool)
	l.Took = func(ref stored.Ref, _ string) bool { return *takes && ref.Name == "a" }
	l.sweep()
	l.rollOut("s")
	l.sweep()
	return l, takes
}

func (l *lab) wantAsked(server string, ids ...string) {
	l.Helper()
	if validating, _ := l.ids(server); !slices.Equal(validating, ids) {
		l.Errorf("webhooks of %s: %v, want %v", server, validating, ids)
	}
}

// TestMovesToSallyportItself keeps the webhooks of a server until Sallyport itself has
// judged by the policy for a while.
func TestMovesToSallyportItself(t *testing.T) {
	l, takes := atServer(t)
	l.move("a", "")
	l.pass(drain + 2*time.Second)
	l.wantAsked("s", "clusterwide-a")
	if l.sweep() {
		t.Error("it is looked at all the time, though nothing is on its way")
	}
	*takes = true
	if !l.sweep() {
		t.Error("it is not looked at again soon")
	}
	l.pass(drain - 2*time.Second)
	l.wantAsked("s", "clusterwide-a")
	// What does not judge any more counts from the beginning.
	*takes = false
	l.sweep()
	*takes = true
	l.pass(drain - time.Second)
	l.wantAsked("s", "clusterwide-a")
	l.pass(2 * time.Second)
	l.wantAsked("s")
}

// TestServerGoesThatIsAsked stays until Sallyport itself, or another server, judges by
// what it is asked for.
func TestServerGoesThatIsAsked(t *testing.T) {
	remove := func(l *lab) {
		t.Helper()
		server, _ := read[v1alpha1.PolicyServer](l, "", "s")
		if err := l.client.Delete(t.Context(), server); err != nil {
			t.Fatal(err)
		}
		l.sweep()
	}
	gone := func(l *lab) bool {
		_, there := read[v1alpha1.PolicyServer](l, "", "s")
		return !there
	}
	t.Run("by Sallyport itself", func(t *testing.T) {
		l, takes := atServer(t)
		remove(l)
		l.pass(2 * drain)
		l.wantAsked("s", "clusterwide-a")
		server, _ := read[v1alpha1.PolicyServer](l, "", "s")
		if got := says(server.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(got, "False StillAsked") || !strings.Contains(got, "ClusterAdmissionPolicy/a") {
			t.Errorf("it says %q", got)
		}
		*takes = true
		l.pass(drain - time.Second)
		l.wantAsked("s", "clusterwide-a")
		l.pass(2 * time.Second)
		l.wantAsked("s")
		l.pass(drain + 2*time.Second)
		if !gone(l) {
			t.Error("the server stays")
		}
	})
	t.Run("by another server", func(t *testing.T) {
		l, _ := atServer(t)
		l.create(serverOf("next", ""))
		l.move("a", "next")
		remove(l)
		l.pass(2 * drain)
		l.wantAsked("s", "clusterwide-a")
		l.rollOut("next")
		l.sweep()
		l.sweep()
		l.wantAsked("next", "clusterwide-a")
		l.wantAsked("s")
	})
	t.Run("and its policies with it", func(t *testing.T) {
		l, _ := atServer(t)
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		if err := l.client.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		remove(l)
		l.wantAsked("s")
	})
}

// TestMeanwhileIsSaid says of a policy that its server does not judge by it, and that
// Sallyport itself does.
func TestMeanwhileIsSaid(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""), policyOf("lost", "nowhere", ""))
	l.Here = func(stored.Ref) bool { return true }
	l.sweep()
	for name, want := range map[string]string{"a": "False RollingOut", "lost": `False NoPolicyServer: there is no PolicyServer "nowhere"`} {
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", name)
		got := says(p.Status.Conditions, v1alpha1.ConditionReady)
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "meanwhile Sallyport judges by it itself, with its own account") {
			t.Errorf("%s: %q", name, got)
		}
	}
	l.Here = func(stored.Ref) bool { return false }
	l.sweep()
	p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
	if got := says(p.Status.Conditions, v1alpha1.ConditionReady); strings.Contains(got, "meanwhile") {
		t.Errorf("a: %q", got)
	}
}

// TestEnforcedAtAServer says so of a policy while its server judges by it, and leaves it
// to Sallyport itself while that does.
func TestEnforcedAtAServer(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	here := true
	l.Here = func(stored.Ref) bool { return here }
	enforced := func() string {
		t.Helper()
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		return says(p.Status.Conditions, v1alpha1.ConditionEnforced)
	}
	l.sweep()
	if got := enforced(); strings.Contains(got, "AtPolicyServer") {
		t.Errorf("while Sallyport judges: %q", got)
	}
	here = false
	l.sweep()
	if got := enforced(); !strings.HasPrefix(got, "False NotAtPolicyServer: RollingOut: not in force yet") {
		t.Errorf("while it rolls out: %q", got)
	}
	l.rollOut("s")
	l.sweep()
	if got := enforced(); got != "True AtPolicyServer: the policy is in force, at PolicyServer s, and its webhook asks for it there" {
		t.Errorf("at the server: %q", got)
	}
	l.setPods("s", false)
	l.sweep()
	if got := enforced(); !strings.HasPrefix(got, "False NotAtPolicyServer: PolicyServerNotReady: ") {
		t.Errorf("without pods: %q", got)
	}
}
