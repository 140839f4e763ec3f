package policies

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

const (
	inShop = `apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: p}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret], namespaces: [shop]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}
`
	elsewhere = `apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: q}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}
`
	excusing = `apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: e}
spec: {exceptions: [{policyName: q}], match: {any: [{resources: {kinds: [Secret]}}]}, notBefore: "2026-11-02T09:01:00Z", expiresAt: "2026-11-02T09:02:00Z"}
`
)

func objectOf(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func compiled(t *testing.T, documents ...string) *policy.Set {
	t.Helper()
	var sources policy.Sources
	for _, document := range documents {
		object := objectOf(t, document)
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if problems := sources.Add(object.GroupVersionKind(), raw, ""); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// TestInert looks again when namespaces come and go, when the set is another, and when
// an exception begins and ends to hold, and tells of the policies that this is about.
func TestInert(t *testing.T) {
	clock := clocktesting.NewFakeClock(now)
	set := compiled(t, inShop, elsewhere, excusing)
	namespaces := []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
	known, wasRead := true, false
	lookedAt := 0
	i := &Inert{
		Set: func() *policy.Set { lookedAt++; return set }, Read: func() bool { return wasRead }, Clock: clock,
		Namespaces: func() ([]*corev1.Namespace, bool) { return namespaces, known },
	}
	p, q := stored.Ref{Kind: stored.KindClusterPolicy, Name: "p"}, stored.Ref{Kind: stored.KindClusterPolicy, Name: "q"}
	want := func(what string, changed []stored.Ref, reasonP, reasonQ string) {
		t.Helper()
		if got := i.refresh(); !slices.Equal(got, changed) {
			t.Errorf("%s: changed %v, want %v", what, got, changed)
		}
		for ref, reason := range map[stored.Ref]string{p: reasonP, q: reasonQ} {
			switch got := i.Of(ref); {
			case reason == "" && got != nil, reason != "" && (len(got) != 1 || got[0].Reason != reason):
				t.Errorf("%s: of %s: %v, want %q", what, ref, got, reason)
			}
		}
	}
	want("before policies were read", nil, "", "")
	if lookedAt != 0 {
		t.Errorf("looked at a set that was not read")
	}
	wasRead = true
	if got := i.Of(p); len(got) != 1 || got[0].Reason != effect.NothingThere.Reason {
		t.Errorf("asked first: %v", got)
	}
	want("nothing changed", nil, effect.NothingThere.Reason, "")
	namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	want("a namespace came", []stored.Ref{p}, "", "")
	clock.Step(time.Minute)
	want("an exception began", []stored.Ref{q}, "", effect.Excused.Reason)
	namespaces = namespaces[:1]
	want("a namespace went", []stored.Ref{p}, effect.NothingThere.Reason, effect.Excused.Reason)
	namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	want("it came again", []stored.Ref{p}, "", effect.Excused.Reason)
	unguarded := []string{"shop"}
	i.Unguarded = func() []string { return unguarded }
	want("nobody asks about it", []stored.Ref{p}, effect.NotGuarded.Reason, effect.Excused.Reason)
	unguarded = nil
	want("it is asked about", []stored.Ref{p}, "", effect.Excused.Reason)
	namespaces = namespaces[:1]
	want("it went again", []stored.Ref{p}, effect.NothingThere.Reason, effect.Excused.Reason)
	known = false
	want("namespaces are not known", []stored.Ref{p}, "", effect.Excused.Reason)
	clock.Step(time.Minute)
	want("an exception ended", []stored.Ref{q}, "", "")
	known = true
	set = compiled(t, elsewhere)
	want("the policy went", nil, "", "")
	if err := i.Ready(); err != nil {
		t.Error(err)
	}
}

// TestRunOfTheInert tells of what has changed, once, until it ends.
func TestRunOfTheInert(t *testing.T) {
	clock := clocktesting.NewFakeClock(now)
	told := make(chan []stored.Ref, 1)
	i := &Inert{
		Set: func() *policy.Set { return compiled(t, inShop) }, Read: func() bool { return true }, Clock: clock,
		Namespaces: func() ([]*corev1.Namespace, bool) { return []*corev1.Namespace{}, true },
		Changed:    func(refs []stored.Ref) { told <- refs },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	waitFor(t, "it waits", clock.HasWaiters)
	clock.Step(InertEvery)
	if got := <-told; len(got) != 1 || got[0].Name != "p" {
		t.Errorf("told of %v", got)
	}
	clock.Step(InertEvery)
	cancel()
	if err := <-ended; err != nil || len(told) > 0 {
		t.Errorf("ended with %v; told again: %d", err, len(told))
	}
}

// TestInertIsShown puts it into the condition Effective, beside what is said of the
// policy itself, and leaves Ready as it is.
func TestInertIsShown(t *testing.T) {
	s := &Status{StatusOptions: StatusOptions{Inert: func(ref stored.Ref) stored.Problems {
		if ref.Name != "p" {
			return nil
		}
		return stored.Problems{{Kind: ref.Kind, Name: ref.Name, Detail: "nothing is there", Reason: effect.NothingThere.Reason}}
	}}}
	object := objectOf(t, inShop)
	for name, want := range map[string]string{"p": "False NothingThere nothing is there", "q": "True AsWritten all that is written has an effect"} {
		told := s.conditions(Key{Kind: stored.KindClusterPolicy, Name: name}, object, policy.Outcome{}, &v1alpha1.PolicyStatus{})
		found := ""
		for _, c := range told.conditions {
			switch c.Type {
			case v1alpha1.ConditionEffective:
				found = string(c.Status) + " " + c.Reason + " " + c.Message
			case v1alpha1.ConditionReady:
				if c.Status != metav1.ConditionTrue {
					t.Errorf("%s: Ready is %s", name, c.Status)
				}
			}
		}
		if found != want {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
	told := s.conditions(Key{Kind: stored.KindClusterPolicy, Name: "p"}, object, policy.Outcome{Problems: stored.Problems{{Detail: "broken"}}}, &v1alpha1.PolicyStatus{})
	for _, c := range told.conditions {
		if c.Type == v1alpha1.ConditionEffective {
			t.Errorf("of what cannot work: %+v", c)
		}
	}
}
