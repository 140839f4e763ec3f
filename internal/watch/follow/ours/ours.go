// Package ours follows the kinds of the API group sallyport.io.
package ours

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/known"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// Options are those of Kinds.
type Options struct {
	// Book gets a fact for each kind; nil where nothing is judged by them.
	Book *known.Book
	// Definitions says whether a kind is being taken away; nil where that counts for
	// nothing.
	Definitions follow.Definitions
	// Staleness and KeepGone are those of follow.Options.
	Staleness time.Duration
	KeepGone  bool
	// Line is the way to the API server, shared with what else follows it.
	Line  *follow.Line
	Clock clock.WithDelayedExecution
	Log   logr.Logger
}

// Kinds are kinds of ours that are followed for one purpose.
type Kinds struct {
	options Options
	// read says whether what was listed was taken in; nil for always.
	read func() bool

	mu    sync.Mutex
	facts map[string]*known.Fact
}

// New makes Kinds.
func New(o Options) *Kinds { return &Kinds{options: o, facts: map[string]*known.Fact{}} }

// Once has no kind count as read before read reports true. It must be called before
// Expect and before the cache is asked for a kind.
func (k *Kinds) Once(read func() bool) { k.read = read }

// Expect has kinds count as unread from now on. Others do from when the cache is
// asked for them.
func (k *Kinds) Expect(kinds ...string) {
	for _, kind := range kinds {
		k.fact(kind)
	}
}

func (k *Kinds) fact(kind string) *known.Fact {
	if k.options.Book == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.facts[kind]
	if f == nil {
		staleness := k.options.Staleness
		if staleness == 0 {
			staleness = follow.DefaultStaleness
		}
		f = known.NewFact(k.options.Book, staleness, k.options.Clock.Now())
		f.Once(k.read)
		k.options.Book.Add(Resource(kind), f)
		k.facts[kind] = f
	}
	return f
}

// Cache makes a cache of the API server that config leads to. It can be asked for
// kinds of ours whether or not they are there yet.
func (k *Kinds) Cache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	config = pace.Watches.Of(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("the client configuration of the cluster cannot be used: %w", err)
	}
	others, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, fmt.Errorf("the client configuration of the cluster cannot be used: %w", err)
	}
	o.HTTPClient = client
	o.Mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{Mapper(), others}}
	o.NewInformer = func(from toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		options := k.Beside(fmt.Sprintf("%T", example))
		if kind, err := apiutil.GVKForObject(example, scheme); err == nil && kind.GroupVersion() == v1alpha1.GroupVersion {
			options = k.follow(kind.Kind)
		}
		options.Slim = o.DefaultTransform
		return toolscache.NewSharedIndexInformer(follow.Source(from, options), example, resync, indexers)
	}
	return cache.New(config, o)
}

// Handle has event called with each object of kinds before and after a change, as a
// cache of Cache gives them: unstructured, so that one that does not decode does not
// stop the watch for the others; nil where it was not there. It must return soon. The
// cache is started by the caller.
func Handle(ctx context.Context, objects cache.Cache, event func(before, after any), kinds ...string) error {
	for _, kind := range kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { event(nil, object) },
			UpdateFunc: event,
			DeleteFunc: func(object any) { event(object, nil) },
		}); err != nil {
			return err
		}
	}
	return nil
}

// Beside says how a kind of Kubernetes is followed for the same purpose as these kinds.
// Nothing is judged by it.
func (k *Kinds) Beside(resource string) follow.Options {
	return follow.Options{
		Staleness: k.options.Staleness, Line: k.options.Line, Clock: k.options.Clock, Log: k.options.Log.WithValues("resource", resource),
	}
}

// follow says how a kind is followed.
func (k *Kinds) follow(kind string) follow.Options {
	name := Resource(kind)
	o := k.Beside(name)
	o.Fact, o.KeepGone = k.fact(kind), k.options.KeepGone
	if k.options.Definitions != nil {
		o.Kind = &follow.Kind{Name: name, From: k.options.Definitions}
	}
	return o
}

// Resource is the resource of a kind of ours with its group, which is also the name
// of its CustomResourceDefinition.
func Resource(kind string) string {
	return v1alpha1.Plural(kind) + "." + v1alpha1.GroupVersion.Group
}

var scheme = ours()

func ours() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err) // our own kinds can be registered
	}
	return s
}

// Mapper knows the resources of our kinds, whether or not the API server has them.
func Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	for kind := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		scope := meta.RESTScopeRoot
		if v1alpha1.Namespaced(kind) {
			scope = meta.RESTScopeNamespace
		}
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), scope)
	}
	return mapper
}
