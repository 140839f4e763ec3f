package policies

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

var now = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// objectsCache is a cache of what a client holds. What is nil in it is done as it
// should be.
type objectsCache struct {
	cache.Cache
	Reader                                     client.Reader
	informerErr, handlerErr, listErr, startErr error
	unsynced                                   bool
	lists                                      int
	handlers                                   map[string]toolscache.ResourceEventHandler
}

func (c *objectsCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.listErr != nil {
		return c.listErr
	}
	return c.Reader.Get(ctx, key, o)
}

func (c *objectsCache) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.lists++
	if c.listErr != nil {
		return c.listErr
	}
	return c.Reader.List(ctx, list)
}

func (c *objectsCache) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{kind: o.GetObjectKind().GroupVersionKind().Kind, of: c}, c.informerErr
}

func (c *objectsCache) Start(ctx context.Context) error {
	if c.startErr != nil {
		return c.startErr
	}
	<-ctx.Done()
	return nil
}

func (c *objectsCache) WaitForCacheSync(context.Context) bool { return !c.unsynced }

type informer struct {
	cache.Informer
	kind string
	of   *objectsCache
}

func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if i.of.handlers == nil {
		i.of.handlers = map[string]toolscache.ResourceEventHandler{}
	}
	i.of.handlers[i.kind] = h
	return nil, i.of.handlerErr
}

// world is a replica beside an API server that holds objects.
type world struct {
	store  *policy.Store
	feed   *policy.Feed
	cache  *objectsCache
	watch  *Watch
	status *Status
	client client.WithWatch
	clock  *clocktesting.FakeClock
	leads  bool
	// applied counts what is written.
	applied *atomic.Int64
	failing error
}

// newWorld makes a replica that leads, of an API server with the objects of
// documents, which it has read.
func newWorld(t *testing.T, documents ...string) *world {
	t.Helper()
	var objects []client.Object
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetUID(types.UID(o.GetKind() + o.GetName()))
		o.SetGeneration(1)
		objects = append(objects, o)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{clock: clocktesting.NewFakeClock(now), leads: true, applied: &atomic.Int64{}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				if w.failing != nil {
					return w.failing
				}
				w.applied.Add(1)
				return c.SubResource(sub).Apply(ctx, o, opts...)
			},
		}).Build()
	w.replica()
	w.watch.reload(t.Context())
	return w
}

// replica has another replica, which knows nothing yet, read the API server.
func (w *world) replica() {
	w.store = policy.NewStore(pod.Default(), w.clock.Now, exception.Options{Began: now})
	w.feed = policy.NewFeed(w.store)
	w.cache = &objectsCache{Reader: w.client}
	w.watch = &Watch{feed: w.feed, log: logr.Discard(), cache: w.cache, clock: clock.RealClock{}, kinds: policy.Kinds(), changed: make(chan struct{}, 1)}
	w.status = NewStatus(StatusOptions{
		Watch: w.watch, Feed: w.feed, Client: w.client, Beside: w.client, Leads: func() bool { return w.leads }, Clock: w.clock, Log: logr.Discard(),
	})
}

// settle has the status deal with all that waits.
func (w *world) settle(ctx context.Context) {
	for w.status.queue.Len() > 0 {
		w.status.next(ctx)
	}
}

// ready is the condition Ready of a policy, as STATUS REASON; empty if there is none.
func (w *world) ready(t *testing.T, kind, name string) (string, string) {
	t.Helper()
	status, err := statusOf(w.object(t, kind, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return string(c.Status) + " " + c.Reason, c.Message
		}
	}
	return "", ""
}

func (w *world) object(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func document(kind, name, spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

const (
	soundSpec = `{rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`
	emptySpec = `{}`
)

var errAPI = errors.New("the API server is away")

// ctx is short for what every call takes first.
type ctx = context.Context

func withCancel(t *testing.T) (context.Context, func()) { return context.WithCancel(t.Context()) }

// waitFor waits until a condition holds that other goroutines bring about.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waiting for %s took too long", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func contains(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q does not say %q", text, want)
	}
}
