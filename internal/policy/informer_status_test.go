package policy

import (
	"strings"
	"testing"
	"time"

	"errors"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/pod"
)

// TestStatusOfPolicies writes the condition Ready of policies, and leaves alone what
// others write, what has changed since, and what says so already.
func TestStatusOfPolicies(t *testing.T) {
	good := yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`)
	bad := yamlOf("DenyPolicy", "x", `spec: {}`)
	exception := yamlOf("PolicyException", "dev/x", `spec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}}`)
	describe := func(d Description) func(*Informer) {
		return func(i *Informer) { i.Describe(func(PolicyRef) Description { return d }) }
	}
	for _, c := range []struct {
		name, document string
		change         func(*Informer)
		since          func(*unstructured.Unstructured)
		// want is the condition Ready as STATUS REASON; empty where nothing is written.
		want, says string
	}{
		{"one that works", good, nil, nil, "True InForce", "in force"},
		{"one that cannot work", bad, nil, nil, "False CannotWork", "Until then: "},
		{"an exception, of which others write", exception, nil, nil, "", ""},
		{"a session, of which others write", yamlOf("BreakglassSession", "s", "spec: {escalation: e, cluster: c, user: u, reason: r}"), nil, nil, "", ""},
		{"where only exceptions are watched", good, func(i *Informer) { i.quiet = true }, nil, "", ""},
		{"one that came after the reading", good, nil, func(o *unstructured.Unstructured) { o.SetUID("later") }, "", ""},
		{"one that has changed since", good, nil, func(o *unstructured.Unstructured) { o.SetGeneration(7) }, "", ""},
		{"one whose status has another shape", good, nil, func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"conditions": "none"} }, "", ""},
		{"one that something else keeps from working", good, describe(Description{NotReady: errors.New("the module is missing"), Reason: "NoModule"}), nil, "False NoModule", "the module is missing"},
		{"one that cannot work and is kept from it", bad, describe(Description{NotReady: errors.New("the module is missing"), Reason: "NoModule"}), nil, "False CannotWork", "Until then: "},
		{"one of which another controller says it", good, describe(Description{Elsewhere: true}), nil, "", ""},
		{"one that cannot work, of another controller", bad, describe(Description{Elsewhere: true}), nil, "False CannotWork", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := stored(t, c.document)
			written := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithStatusSubresource(objects[0]).WithRuntimeObjects(objects[0].DeepCopy()).Build()
			i := &Informer{store: NewStore(pod.Default(), func() time.Time { return judgedAt }, pass.Options{Began: judgedAt}), log: logr.Discard(), client: written}
			if c.change != nil {
				c.change(i)
			}
			i.take(objects)
			told := objects[0].DeepCopy()
			if c.since != nil {
				c.since(told)
			}
			i.tell(t.Context(), []*unstructured.Unstructured{told})
			got, condition, version := readyOf(t, written, objects[0])
			if got != c.want || !strings.Contains(condition.Message, c.says) {
				t.Errorf("%q, want %q with %q: %s", got, c.want, c.says, condition.Message)
			}
			if c.want == "" {
				return
			}
			again := objects[0].DeepCopy()
			if err := written.Get(t.Context(), client.ObjectKeyFromObject(again), again); err != nil {
				t.Fatal(err)
			}
			i.tell(t.Context(), []*unstructured.Unstructured{again})
			if _, _, after := readyOf(t, written, objects[0]); after != version {
				t.Error("it is written again, though it says so already")
			}
		})
	}
}

func readyOf(t *testing.T, from client.Client, of *unstructured.Unstructured) (got string, ready metav1.Condition, version string) {
	t.Helper()
	object := of.DeepCopy()
	if err := from.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	status, err := statusOf(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			got, ready = string(c.Status)+" "+c.Reason, c
		}
	}
	return got, ready, object.GetResourceVersion()
}

// TestExceptionsThatStopWorkingExcuseNothing reads an exception that worked once.
func TestExceptionsThatStopWorkingExcuseNothing(t *testing.T) {
	of := func(spec string) string {
		return yamlOf("PolicyException", "dev/x", "spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}"+spec+"}")
	}
	store, i := started(t, requireLabels, of(""))
	r := created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
	if d := store.Set().Decide(t.Context(), r); d.Refuses() {
		t.Fatalf("%+v", d.Results)
	}
	objects := stored(t, requireLabels, of(", until: tomorrow"))
	objects[1].SetGeneration(2)
	i.take(objects)
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() {
		t.Errorf("what it said before counts still: %+v", d.Results)
	}
	// One that works no more, of any other kind, stays as it was.
	objects = stored(t, strings.Replace(requireLabels, "spec:", "spec:\n  until: tomorrow", 1))
	objects[0].SetResourceVersion("2")
	i.take(objects)
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() {
		t.Errorf("the policy is gone: %+v", d.Results)
	}
}
