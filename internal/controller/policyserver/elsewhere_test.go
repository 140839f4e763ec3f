package policyserver

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// serverThere is a PolicyServer as Elsewhere reads it.
func serverThere(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PolicyServer"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
	}
}

// asking are webhooks of a server that ask for policies.
func asking(server string, refs ...stored.Ref) *admissionregistrationv1.ValidatingWebhookConfiguration {
	owner := &v1alpha1.PolicyServer{ObjectMeta: metav1.ObjectMeta{Name: server, UID: types.UID("uid-" + server)}}
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: (&Controller{}).meta(owner, WebhooksName(server), "")}
	t := &Target{Namespace: own, Service: ObjectName(server), Port: servicePort}
	for _, ref := range refs {
		c.Webhooks = append(c.Webhooks, t.validating(&hosted{ref: ref, id: ref.ModuleID(), spec: &v1alpha1.AdmissionPolicySpec{}}))
	}
	return c
}

var (
	wideA  = stored.Ref{Kind: stored.KindClusterAdmissionPolicy, Name: "a"}
	narrow = stored.Ref{Kind: stored.KindAdmissionPolicy, Namespace: "shop", Name: "front-a"}
	// same has the id of narrow.
	same = stored.Ref{Kind: stored.KindAdmissionPolicy, Namespace: "shop-front", Name: "a"}
)

// TestElsewhere takes for judged elsewhere what the webhooks of a server ask for that
// is there, and nothing else.
func TestElsewhere(t *testing.T) {
	type configuration = admissionregistrationv1.ValidatingWebhookConfiguration
	for name, c := range map[string]struct {
		change func(c *configuration, s *metav1.PartialObjectMetadata)
		want   bool
	}{
		"as it is made": {func(*configuration, *metav1.PartialObjectMetadata) {}, true},
		"its server is going": {func(_ *configuration, s *metav1.PartialObjectMetadata) {
			s.DeletionTimestamp = &metav1.Time{Time: noon}
		}, false},
		"its server is not there":   {func(_ *configuration, s *metav1.PartialObjectMetadata) { s.Name = "other" }, false},
		"its server was made again": {func(_ *configuration, s *metav1.PartialObjectMetadata) { s.UID = "another" }, false},
		"it is going": {func(c *configuration, _ *metav1.PartialObjectMetadata) {
			c.DeletionTimestamp = &metav1.Time{Time: noon}
		}, false},
		"it belongs to somebody else": {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.OwnerReferences = nil }, false},
		"it has another name":         {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.Name = "mine" }, false},
		"it has the label of another": {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.Labels[labelServer] = "t" }, false},
		"it leads to another Service": {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.Webhooks[0].ClientConfig.Service.Name = "x" }, false},
		"it leads to another namespace": {func(c *configuration, _ *metav1.PartialObjectMetadata) {
			c.Webhooks[0].ClientConfig.Service.Namespace = "x"
		}, false},
		"it leads to a URL": {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.Webhooks[0].ClientConfig.Service = nil }, false},
		"it leads to another policy": {func(c *configuration, _ *metav1.PartialObjectMetadata) {
			*c.Webhooks[0].ClientConfig.Service.Path = "/policy/clusterwide-b/validate"
		}, false},
		"by the path of the policy Ignore": {func(c *configuration, _ *metav1.PartialObjectMetadata) {
			*c.Webhooks[0].ClientConfig.Service.Path = "/ignore/policy/clusterwide-a/validate"
		}, true},
		"by a path that leads to no policy": {func(c *configuration, _ *metav1.PartialObjectMetadata) { c.Webhooks[0].ClientConfig.Service.Path = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(noon)
			e := NewElsewhere(ElsewhereOptions{Namespace: own, Clock: clock, Log: logr.Discard()})
			hooks, server := asking("s", wideA), serverThere("s")
			c.change(hooks, server)
			for range 2 {
				e.take([]*metav1.PartialObjectMetadata{server}, []*configuration{hooks})
				clock.Step(drain)
			}
			if got := e.Judges(wideA); got != c.want {
				t.Errorf("judged elsewhere: %t", got)
			}
		})
	}
}

// TestElsewhereSameID knows which of two policies with one id a webhook asks for.
func TestElsewhereSameID(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	e := NewElsewhere(ElsewhereOptions{Namespace: own, Clock: clock, Log: logr.Discard()})
	for range 2 {
		e.take([]*metav1.PartialObjectMetadata{serverThere("s")}, []*admissionregistrationv1.ValidatingWebhookConfiguration{asking("s", narrow)})
		clock.Step(drain)
	}
	if narrow.ModuleID() != same.ModuleID() || !e.Judges(narrow) || e.Judges(same) {
		t.Errorf("%s: %t, %s: %t", narrow, e.Judges(narrow), same, e.Judges(same))
	}
	// Without the namespace nobody knows which one it is.
	hooks := asking("s", narrow)
	hooks.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"shop"}}}}
	e.take([]*metav1.PartialObjectMetadata{serverThere("s")}, []*admissionregistrationv1.ValidatingWebhookConfiguration{hooks})
	if e.Judges(narrow) {
		t.Error("a webhook that selects no namespace asks for a policy of one")
	}
}

// TestElsewhereTimes judges here for as long as an API server can need to ask there,
// and again as soon as nobody asks there.
func TestElsewhereTimes(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	changes := 0
	e := NewElsewhere(ElsewhereOptions{Namespace: own, Clock: clock, Log: logr.Discard(), Changed: func() { changes++ }})
	if e.Ready() == nil || !e.Judges(wideA) {
		t.Error("it is known before anything was read")
	}
	servers := []*metav1.PartialObjectMetadata{serverThere("s"), serverThere("t")}
	take := func(hooks ...*admissionregistrationv1.ValidatingWebhookConfiguration) time.Duration {
		return e.take(servers, hooks)
	}
	take()
	if e.Ready() != nil || e.Judges(wideA) || changes != 1 {
		t.Errorf("%v, %d changes", e.Ready(), changes)
	}
	if next := take(asking("s", wideA)); next != drain || e.Judges(wideA) {
		t.Errorf("looked at again after %s", next)
	}
	clock.Step(drain - time.Second)
	if next := take(asking("s", wideA)); next != time.Second || e.Judges(wideA) || changes != 1 {
		t.Errorf("looked at again after %s, %d changes", next, changes)
	}
	clock.Step(time.Second)
	if next := take(asking("s", wideA)); next != 0 || !e.Judges(wideA) || changes != 2 {
		t.Errorf("looked at again after %s, %d changes", next, changes)
	}
	// From one server to another there is no break.
	if take(asking("t", wideA)); !e.Judges(wideA) {
		t.Error("a move between servers is a break")
	}
	if take(); e.Judges(wideA) || changes != 3 {
		t.Errorf("nobody asks, and it counts as judged elsewhere; %d changes", changes)
	}
	// After a break it is counted from the beginning.
	if take(asking("s", wideA)); e.Judges(wideA) {
		t.Error("the time before the break counts")
	}
}

// TestElsewhereAfterAStart takes from the API server how long a webhook is there.
func TestElsewhereAfterAStart(t *testing.T) {
	for name, c := range map[string]struct {
		written time.Duration
		known   bool
		want    bool
	}{
		"long ago":   {time.Hour, true, true},
		"just now":   {time.Second, true, false},
		"not known":  {0, false, false},
		"to come":    {-time.Hour, true, false},
		"as long as": {drain, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewElsewhere(ElsewhereOptions{Namespace: own, Clock: clocktesting.NewFakeClock(noon), Log: logr.Discard()})
			hooks := asking("s", wideA)
			if c.known {
				at := metav1.NewTime(noon.Add(-c.written))
				hooks.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{}}, {Time: &at}, {}}
			}
			next := e.take([]*metav1.PartialObjectMetadata{serverThere("s")}, []*admissionregistrationv1.ValidatingWebhookConfiguration{hooks})
			if got := e.Judges(wideA); got != c.want || next > drain {
				t.Errorf("judged elsewhere: %t; looked at again after %s", got, next)
			}
		})
	}
}

// TestElsewhereWatches reads the API server: what changes there counts here, and where
// it may not be read, nothing is judged elsewhere.
func TestElsewhereWatches(t *testing.T) {
	begin := func(t *testing.T, refuse bool) (*Elsewhere, *fake.Clientset, <-chan struct{}) {
		t.Helper()
		scheme := runtime.NewScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		hooks := asking("s", wideA)
		hooks.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: noon.Add(-time.Hour)}}}
		client := fake.NewClientset()
		if err := client.Tracker().Add(hooks); err != nil {
			t.Fatal(err)
		}
		servers := metadatafake.NewSimpleMetadataClient(scheme, serverThere("s"))
		if refuse {
			client.PrependReactor("list", "validatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("validatingwebhookconfigurations"), "", nil)
			})
		}
		e := NewElsewhere(ElsewhereOptions{Client: client, Metadata: servers, Namespace: own, Clock: clocktesting.NewFakeClock(noon), Log: logr.Discard()})
		changed := make(chan struct{}, 10)
		e.Changed = func() { changed <- struct{}{} }
		ended := make(chan error, 1)
		go func() { ended <- e.Run(t.Context()) }()
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		<-changed
		return e, client, changed
	}
	t.Run("what changes", func(t *testing.T) {
		e, client, changed := begin(t, false)
		if e.Ready() != nil || !e.Judges(wideA) {
			t.Fatalf("%v; it is not judged elsewhere", e.Ready())
		}
		if err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), WebhooksName("s"), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if <-changed; e.Judges(wideA) {
			t.Error("it counts as judged elsewhere")
		}
	})
	t.Run("what may not be read", func(t *testing.T) {
		e, _, _ := begin(t, true)
		if e.Ready() != nil || e.Judges(wideA) {
			t.Errorf("%v; judged elsewhere: %t", e.Ready(), e.Judges(wideA))
		}
	})
}
