package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestOutcomes says what became of each object that is told of.
func TestOutcomes(t *testing.T) {
	good := yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`)
	bad := yamlOf("DenyPolicy", "x", `spec: {}`)
	for _, c := range []struct {
		name, document string
		since          func(*unstructured.Unstructured)
		told           bool
		problem        string
	}{
		{"one that works", good, nil, true, ""},
		{"one that cannot work", bad, nil, true, "spec"},
		{"an exception, of which others tell", yamlOf("PolicyException", "dev/x", `spec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}}`), nil, false, ""},
		{"a session, of which others tell", yamlOf("BreakglassSession", "s", "spec: {escalation: e, cluster: c, user: u, reason: r}"), nil, false, ""},
		{"one that came after the reading", good, func(o *unstructured.Unstructured) { o.SetUID("later") }, false, ""},
		{"one that has changed since", good, func(o *unstructured.Unstructured) { o.SetGeneration(7) }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, feed := started(t, c.document)
			object := asStored(t, c.document)[0]
			if c.since != nil {
				c.since(object)
			}
			o, told := feed.Outcome(object)
			if told != c.told {
				t.Fatalf("told of: %v", told)
			}
			if (c.problem == "") != (len(o.Problems) == 0) || c.problem != "" && (!strings.Contains(o.Problems.Error(), c.problem) || o.Meanwhile == "" || o.LastInForce) {
				t.Errorf("%+v", o)
			}
		})
	}
	for kind, want := range map[string]bool{stored.KindDenyPolicy: true, stored.KindPolicyServer: true, "IdentitySource": true, "BreakglassEscalation": true, "BreakglassSession": false, exception.KindException: false, exception.KindRequest: false} {
		if got := slices.Contains(ToldKinds(), kind); got != want {
			t.Errorf("%s is told of: %v", kind, got)
		}
	}
}

// TestLastGoodVersionIsSaid of an object whose later version cannot work.
func TestLastGoodVersionIsSaid(t *testing.T) {
	_, feed := started(t, requireLabels)
	bad := asStored(t, strings.Replace(requireLabels, "spec:", "spec:\n  until: tomorrow", 1))
	feed.Take(atVersion(bad, 2))
	if o, ok := feed.Outcome(bad[0]); !ok || !o.LastInForce || len(o.Problems) == 0 || o.Meanwhile != "" {
		t.Errorf("%v %+v", ok, o)
	}
}

// TestWhatCountsOfAnObject reads an object again only if that could come to something
// else: the status of thousands of exceptions changes while they are used.
func TestWhatCountsOfAnObject(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		change     func(*unstructured.Unstructured)
		want       bool
	}{
		{"the status", stored.KindClusterPolicy, func(o *unstructured.Unstructured) {
			o.Object["status"] = map[string]any{"observedGeneration": int64(1)}
		}, false},
		{"the status of an exception", exception.KindException, func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"useCount": int64(1)} }, false},
		{"the status of a session, which is what it says", "BreakglassSession", func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"state": "Approved"} }, true},
		{"the spec", stored.KindClusterPolicy, func(o *unstructured.Unstructured) { o.SetGeneration(2) }, true},
		{"labels", stored.KindClusterPolicy, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		{"annotations", exception.KindException, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1alpha1.AnnotationApproval: "x"})
		}, true},
		{"a deletion", exception.KindException, func(o *unstructured.Unstructured) {
			now := metav1.NewTime(judgedAt)
			o.SetDeletionTimestamp(&now)
		}, true},
		{"another object of the same name", stored.KindClusterPolicy, func(o *unstructured.Unstructured) { o.SetUID("other") }, true},
		{"who manages its fields", stored.KindClusterPolicy, func(o *unstructured.Unstructured) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := asStored(t, yamlOf(c.kind, "x", "spec: {}"))[0]
			before.SetGeneration(1)
			after := before.DeepCopy()
			after.SetResourceVersion("2")
			c.change(after)
			if got := Changed(before, after); got != c.want {
				t.Errorf("changed: %v", got)
			}
			feed := NewFeed(NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt}))
			feed.Take([]*unstructured.Unstructured{before})
			first := feed.read[before.GetUID()]
			feed.Take([]*unstructured.Unstructured{after})
			if again := feed.read[after.GetUID()] != first; again != c.want {
				t.Errorf("read again: %v", again)
			}
			if !c.want && first.version.resource != "2" {
				t.Error("it is compared each time from now on")
			}
		})
	}
	object := asStored(t, yamlOf("BreakglassSession", "x", "spec: {}"))[0]
	if Changed(object, object.DeepCopy()) {
		t.Error("the same version is a change")
	}
}

// TestExceptionsThatStopWorkingExcuseNothing reads an exception that worked once.
func TestExceptionsThatStopWorkingExcuseNothing(t *testing.T) {
	of := func(spec string) string {
		return yamlOf("PolicyException", "dev/x", "spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}"+spec+"}")
	}
	store, feed := started(t, requireLabels, of(""))
	r := created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
	if d := store.Set().Decide(t.Context(), r); d.Refuses() {
		t.Fatalf("%+v", d.Results)
	}
	feed.Take(atVersion(asStored(t, requireLabels, of(", until: tomorrow")), 2))
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() {
		t.Errorf("what it said before counts still: %+v", d.Results)
	}
	// One that works no more, of any other kind, stays as it was.
	feed.Take(atVersion(asStored(t, strings.Replace(requireLabels, "spec:", "spec:\n  until: tomorrow", 1)), 2))
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() {
		t.Errorf("the policy is gone: %+v", d.Results)
	}
}

// TestSinceWhenAPolicyIsKnown counts from when its spec was read first.
func TestSinceWhenAPolicyIsKnown(t *testing.T) {
	now := judgedAt
	feed := NewFeed(NewStore(pod.Default(), func() time.Time { return now }, exception.Options{Began: judgedAt}))
	objects := asStored(t, requireLabels)
	for _, step := range []struct {
		name, version string
		generation    int64
		minutes, want int
	}{
		{"read", "1", 1, 0, 0}, {"its status changes", "2", 1, 1, 0}, {"its spec changes", "3", 2, 2, 2},
	} {
		now = judgedAt.Add(time.Duration(step.minutes) * time.Minute)
		objects[0].SetResourceVersion(step.version)
		objects[0].SetGeneration(step.generation)
		feed.Take(objects)
		if got := feed.read[objects[0].GetUID()].since; !got.Equal(judgedAt.Add(time.Duration(step.want) * time.Minute)) {
			t.Errorf("%s: since %s", step.name, got)
		}
	}
}

// TestAnswersAreReadWithTheirRequests judges what is about exceptions together, as none
// of it says anything on its own.
func TestAnswersAreReadWithTheirRequests(t *testing.T) {
	store, _ := started(t, disallowLatest,
		yamlOf("PolicyExceptionRequest", "dev/tag", `spec: {exceptions: [{policyName: disallow-latest-tag}], reason: r, exclude: {all: [{name: test, kind: [Deployment], namespace: [dev]}]}}`),
		yamlOf("PolicyExceptionResponse", "answer", `spec: {approvalPolicy: manual, name: tag, status: Denied, reason: no}`),
		yamlOf("PolicyException", "dev/test", `spec: {exceptions: [{policyName: disallow-latest-tag}], match: {any: [{resources: {kinds: [Deployment], names: [test]}}]}}`))
	d := store.Set().Decide(t.Context(), created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "test", "")))
	if got := only(t, d); got.Status != decision.Skip {
		t.Errorf("%s: %s", got.Status, got.Message)
	}
	t.Run("one that cannot work on its own", func(t *testing.T) {
		_, feed := started(t, yamlOf("PolicyException", "dev/x", `spec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, podSecurity: [{controlName: Nothing}]}`))
		if found := (*feed.store.ofAPI.Load())[stored.Ref{Kind: "PolicyException", Namespace: "dev", Name: "x"}]; len(found) != 1 || !strings.Contains(found[0].Path, "controlName") {
			t.Errorf("%v", (*feed.store.ofAPI.Load()))
		}
	})
}
