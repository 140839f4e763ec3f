package exception

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestStored excuses as one that is held decoded does, is read only when it is compiled,
// and excuses nothing where it cannot be read or was deleted.
func TestStored(t *testing.T) {
	decoded := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}").Exceptions[0].Object
	reads := 0
	var fails error
	e := &Stored{Kind: KindException, Namespace: "dev", Name: "e", Read: func() (*metav1.ObjectMeta, *v1alpha1.PolicyExceptionSpec, error) {
		reads++
		return &decoded.ObjectMeta, &decoded.Spec, fails
	}}
	bounded := sources(t, "{}", "{policies: [other], maxDuration: 1h}").ExceptionPolicies
	kept := NewCache(Options{})
	compile := func(s Sources, want int) *Set {
		t.Helper()
		set, _ := kept.Compile(s)
		if n, _ := finds(t.Context(), set, podIn("dev", now)); n != want {
			t.Errorf("it excuses %d times, want %d", n, want)
		}
		return set
	}
	compile(Sources{Stored: []*Stored{e}}, 1)
	compile(Sources{Stored: []*Stored{e}}, 1)
	if reads != 1 {
		t.Errorf("it was read %d times", reads)
	}
	compile(Sources{Stored: []*Stored{e}, ExceptionPolicies: bounded}, 1)
	if reads != 2 {
		t.Errorf("it was read %d times as rules changed", reads)
	}
	fails = errors.New("gone")
	set := compile(Sources{Stored: []*Stored{e}}, 0)
	if problem := set.State(KindException, "dev", "e").Problem; problem == nil || !strings.Contains(problem.Error(), "gone") {
		t.Errorf("%v", problem)
	}
	fails = nil
	deleted := *e
	deleted.Deleted = true
	if s := (Sources{Stored: []*Stored{&deleted}}); s.Empty() {
		t.Error("sources of an exception are empty")
	} else if set := compile(s, 0); set.State(KindException, "dev", "e").Problem != errEnding {
		t.Errorf("%v", set.State(KindException, "dev", "e"))
	}
}
