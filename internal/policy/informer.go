package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/breakglass"
	"github.com/sallyport-io/sallyport/internal/contextgate"
	"github.com/sallyport-io/sallyport/internal/follow/ours"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/source"
)

// Informer feeds a Store with the policies of an API server, and writes into
// their status whether each is in force. It watches them as unstructured objects
// and decodes each on its own, strictly: one that does not decode is that one's
// problem and does not stop the watch for the others.
type Informer struct {
	store  *Store
	log    logr.Logger
	cache  cache.Cache
	client client.Client
	// followed says how well the cache is fed.
	followed *ours.Kinds

	// changed holds at most one notice: however many policies change, one pass
	// over all of them follows.
	changed chan struct{}
	// reloaded is told of each change that was put in force.
	reloaded func()
	describe func(PolicyRef) Description
	// kinds are what is watched. Of a quiet one nothing is written.
	kinds []string
	quiet bool
	// stale holds at most one notice that the status of policies may have changed.
	stale   chan struct{}
	context contextConditions

	mu sync.Mutex
	// good has, for each policy, the last version that could work. It stays in
	// force while a later one cannot.
	good   map[types.UID]*decoded
	read   map[types.UID]*decoded
	synced bool
	// together are the problems that policies have with each other.
	together map[objectID]Problems
}

// NewInformer makes an Informer for the API server that config leads to, which
// follows the kinds in the way of followed.
func NewInformer(config *rest.Config, store *Store, log logr.Logger, followed *ours.Kinds) (*Informer, error) {
	policies, err := followed.Cache(config, cache.Options{})
	if err != nil {
		return nil, fmt.Errorf("the policies of the API server cannot be watched: %w", err)
	}
	writer, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &Informer{
		store: store, log: log, followed: followed, cache: policies, client: writer,
		changed: make(chan struct{}, 1), stale: make(chan struct{}, 1), good: map[types.UID]*decoded{}, read: map[types.UID]*decoded{}, kinds: kinds,
	}, nil
}

// Expect has all that is watched count as unread from now on, and not only from when
// Run asks for it.
func (i *Informer) Expect() { i.followed.Expect(i.kinds...) }

// OnlyExceptions has nothing watched but exceptions and what is about them, and
// nothing written. It must be called before Run.
func (i *Informer) OnlyExceptions() { i.kinds, i.quiet = pass.Kinds, true }

// Synced reports whether every policy has been read at least once.
func (i *Informer) Synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// Run watches until ctx ends. A kind that is not there, or may not be read, is no
// error: it is tried again until it can be, and until then nothing is put in force.
func (i *Informer) Run(ctx context.Context) error {
	for _, kind := range i.kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		informer, err := i.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("the policies of the API server cannot be watched: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { i.notice() },
			UpdateFunc: func(any, any) { i.notice() },
			DeleteFunc: func(any) { i.notice() },
		}); err != nil {
			return fmt.Errorf("the policies of the API server cannot be watched: %w", err)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- i.cache.Start(ctx) }()
	if !i.cache.WaitForCacheSync(ctx) {
		return <-stopped
	}
	i.notice()
	for {
		select {
		case <-ctx.Done():
			return <-stopped
		case err := <-stopped:
			return err
		case <-i.changed:
			i.reload(ctx)
		case <-i.stale:
			if objects, err := i.list(ctx); err != nil {
				i.log.Error(err, "policies cannot be listed")
			} else {
				i.tell(ctx, objects)
			}
		}
	}
}

// Description is what is to be said of a policy beside whether it can be compiled.
type Description struct {
	// NotReady is why the policy is not in force all the same, and Reason the same
	// in one word.
	NotReady error
	Reason   string
	// Elsewhere is set where another controller says whether the policy is in force;
	// here it is said alone if it cannot work.
	Elsewhere bool
	// Conditions are further ones. Their generation is filled in.
	Conditions []metav1.Condition
}

// Describe has describe asked about each policy when its status is written. It must
// be called before Run.
func (i *Informer) Describe(describe func(PolicyRef) Description) { i.describe = describe }

func (i *Informer) notice() {
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

// reload compiles what the caches hold and puts it in force.
func (i *Informer) reload(ctx context.Context) {
	objects, err := i.list(ctx)
	if err != nil {
		i.log.Error(err, "policies cannot be listed")
		return
	}
	i.take(objects)
	i.tell(ctx, objects)
	if i.reloaded != nil {
		i.reloaded()
	}
}

// take compiles objects and puts them in force.
func (i *Informer) take(objects []*unstructured.Unstructured) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var sources Sources
	good, read := map[types.UID]*decoded{}, map[types.UID]*decoded{}
	for _, object := range objects {
		uid := object.GetUID()
		d := i.decode(object)
		read[uid] = d
		if len(d.problems) == 0 {
			good[uid] = d
		} else if last, ok := i.good[uid]; ok && !d.exception {
			// An exception that cannot work excuses nothing, whatever it said before.
			good[uid] = last
		}
		if good[uid] == nil {
			sources.add(d.standIn())
		}
		if use, ok := good[uid]; ok {
			sources.add(use.sources)
		}
	}
	i.good, i.read = good, read
	i.together = map[objectID]Problems{}
	for _, p := range i.store.Merge(sources) {
		if p.Origin == "" {
			id := objectID{p.Kind, p.Namespace, p.Name}
			i.together[id] = append(i.together[id], p)
		}
	}
	i.synced = true
}

// tell writes the status of the policies that were read.
func (i *Informer) tell(ctx context.Context, objects []*unstructured.Unstructured) {
	for _, object := range objects {
		uid := object.GetUID()
		d := i.read[uid]
		if i.quiet || d == nil || d.exception || object.GetKind() == breakglass.KindSession || d.generation != object.GetGeneration() {
			continue
		}
		found := append(d.problems[:len(d.problems):len(d.problems)], i.together[objectID{object.GetKind(), object.GetNamespace(), object.GetName()}]...)
		i.report(ctx, object, d, found, i.good[uid] != nil)
	}
}

// OnReload has f called after each change has been put in force. It must be
// called before Run.
func (i *Informer) OnReload(f func()) { i.reloaded = f }

// decoded is what one object was decoded to. It is kept until the object
// changes, so that of many objects only those that changed are read again.
type decoded struct {
	version  string
	sources  Sources
	problems Problems
	// generation is that of the object, and since when it is known here.
	generation int64
	since      time.Time
	// context is what the policy may read; nil for nothing.
	context *contextgate.Policy
	// notes are what the policy leaves open, and which doors it needs.
	notes Problems
	// exception is set for the kinds about exceptions, whose status the workflow
	// writes and which are judged all together alone.
	exception bool
	// broken is set for one that cannot work.
	broken *Broken
}

// standIn is what answers for an object that cannot work.
func (d *decoded) standIn() Sources {
	if d.broken == nil {
		return Sources{}
	}
	if d.broken.Kind == pass.KindExceptionPolicy {
		return Sources{Broken: []*Broken{d.broken}, Passes: pass.Sources{Broken: []pass.BrokenPolicy{d.broken.exceptionPolicy()}}}
	}
	return Sources{Broken: []*Broken{d.broken}}
}

// decode decodes an object and finds the problems that it has on its own.
func (i *Informer) decode(object *unstructured.Unstructured) *decoded {
	exception := pass.InWorkflow(object.GetKind())
	version := object.GetResourceVersion()
	if exception {
		// The status, which changes often, says nothing that counts.
		version = strconv.FormatInt(object.GetGeneration(), 10) + " " + strconv.FormatBool(object.GetDeletionTimestamp() != nil) + " " + object.GetAnnotations()[v1alpha1.AnnotationCreatedBy] + " " + object.GetAnnotations()[v1alpha1.AnnotationApproval]
	}
	if known, ok := i.read[object.GetUID()]; ok && known.version == version {
		return known
	}
	d := &decoded{version: version, exception: exception, generation: object.GetGeneration(), since: i.store.now()}
	if known, ok := i.read[object.GetUID()]; ok && known.generation == d.generation {
		d.since = known.since
	}
	if d.problems = addObject(&d.sources, object); len(d.problems) == 0 && !exception {
		var set *Set
		set, d.problems = Compile(d.sources, i.store.pods.Unsure(), pass.Options{})
		d.notes = set.Notes()
		if contexts := set.Contexts(); len(contexts) == 1 {
			d.context = contexts[0]
		}
	}
	if len(d.problems) > 0 {
		d.broken = NewBroken(object, d.problems)
	}
	return d
}

func addObject(sources *Sources, object *unstructured.Unstructured) Problems {
	raw, err := object.MarshalJSON()
	if err != nil {
		return Problems{{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Detail: err.Error()}}
	}
	return sources.Add(object.GroupVersionKind(), raw, "")
}

// report writes the conditions of a policy, if they change.
func (i *Informer) report(ctx context.Context, object *unstructured.Unstructured, d *decoded, problems Problems, inForce bool) {
	log := i.log.WithValues(source.Known("kind", object.GetKind(), "namespace", object.GetNamespace(), "name", object.GetName())...)
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce",
		Message: "the policy is in force", ObservedGeneration: object.GetGeneration(),
	}
	if len(problems) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "CannotWork", problems.Error()
		instead := i.store.Set().insteadOf(PolicyRef{object.GetKind(), object.GetNamespace(), object.GetName()})
		switch {
		case instead != nil:
			condition.Message += "\nUntil then: " + instead.Meanwhile() + "."
			log.Error(problems, "policy cannot work", "meanwhile", instead.Meanwhile())
		case inForce:
			condition.Message += "\nThe last version that could work stays in force."
			fallthrough
		default:
			log.Error(problems, "policy cannot work", "lastVersionInForce", inForce)
		}
	}
	status, err := statusOf(object)
	if err != nil {
		log.Error(err, "status of policy cannot be read")
		return
	}
	var said Description
	if i.describe != nil {
		said = i.describe(PolicyRef{object.GetKind(), object.GetNamespace(), object.GetName()})
	}
	if said.Elsewhere && len(problems) == 0 {
		return
	}
	conditions, gone := i.conditions(condition, d, &status)
	switch {
	case said.Elsewhere:
		conditions, gone = conditions[:1], nil
	case said.NotReady != nil && len(problems) == 0:
		conditions[0].Status, conditions[0].Reason, conditions[0].Message = metav1.ConditionFalse, said.Reason, said.NotReady.Error()
	}
	if !said.Elsewhere {
		// What the pods of a server said that ran the policy before.
		gone = append(gone, v1alpha1.ConditionModuleReady)
	}
	for _, c := range said.Conditions {
		c.ObservedGeneration = object.GetGeneration()
		conditions = append(conditions, c)
	}
	changed, fresh, err := withConditions(object, status, conditions, gone...)
	if err != nil {
		log.Error(err, "status of policy cannot be read")
		return
	}
	if !fresh {
		return
	}
	if err := i.client.Status().Patch(ctx, changed, client.MergeFrom(object)); err != nil && ctx.Err() == nil {
		log.Error(err, "status of policy cannot be written")
	}
}

// list reads the caches, in the order of names.
func (i *Informer) list(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, kind := range i.kinds {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := i.cache.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("the cache of %s cannot be read: %w", kind, err)
		}
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		for k := range list.Items {
			objects = append(objects, &list.Items[k])
		}
	}
	return objects, nil
}
