package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/pod"
)

var errCache = errors.New("the cache is broken")

// oddCache is a cache that cannot do what it is asked for.
type oddCache struct {
	cache.Cache
	informerErr, handlerErr, listErr error
	unsynced                         bool
	listed                           *int
}

func (c oddCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return oddInformer{err: c.handlerErr}, c.informerErr
}

func (c oddCache) Start(context.Context) error { return errCache }

func (c oddCache) WaitForCacheSync(context.Context) bool { return !c.unsynced }

func (c oddCache) List(context.Context, client.ObjectList, ...client.ListOption) error {
	*c.listed++
	return c.listErr
}

type oddInformer struct {
	cache.Informer
	err error
}

func (i oddInformer) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return nil, i.err
}

// TestInformerOfACacheThatFails ends with what is wrong, and puts nothing in force that
// was not read to its end.
func TestInformerOfACacheThatFails(t *testing.T) {
	for name, c := range map[string]oddCache{
		"no informer": {informerErr: errors.New("no informer")},
		"no handler":  {handlerErr: errors.New("no handler")},
		"not read":    {unsynced: true},
	} {
		t.Run(name, func(t *testing.T) {
			// What comes first of several things that have happened is by chance.
			for range 20 {
				listed := 0
				c.listed = &listed
				store, i := started(t, yamlOf("ClusterPolicy", "x", brokenRules))
				i.cache, i.kinds, i.log, i.changed, i.stale = c, kinds, logr.Discard(), make(chan struct{}, 1), make(chan struct{}, 1)
				err := i.Run(t.Context())
				want := name
				if c.unsynced {
					want = errCache.Error()
				}
				if err == nil || !strings.Contains(err.Error(), want) || listed > 0 {
					t.Fatalf("%v after %d lists, want %q", err, listed, want)
				}
				if d := store.Set().Decide(t.Context(), podOfShop(t)); !d.Refuses() {
					t.Fatalf("what was in force is gone: %+v", d.Results)
				}
			}
		})
	}
	t.Run("a kind that cannot be listed", func(t *testing.T) {
		store, i := started(t, yamlOf("ClusterPolicy", "x", brokenRules))
		listed, reloaded := 0, false
		i.cache, i.kinds, i.log = oddCache{listErr: errCache, listed: &listed}, kinds, logr.Discard()
		i.OnReload(func() { reloaded = true })
		i.reload(t.Context())
		if d := store.Set().Decide(t.Context(), podOfShop(t)); !d.Refuses() || reloaded || listed == 0 {
			t.Errorf("what was in force is gone: %+v", d.Results)
		}
	})
}

// TestSinceWhenAPolicyIsKnown counts from when its spec was read first.
func TestSinceWhenAPolicyIsKnown(t *testing.T) {
	now := judgedAt
	i := &Informer{store: NewStore(pod.Default(), func() time.Time { return now }, pass.Options{Began: judgedAt}), quiet: true}
	objects := stored(t, requireLabels)
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
		i.take(objects)
		if got := i.read[objects[0].GetUID()].since; !got.Equal(judgedAt.Add(time.Duration(step.want) * time.Minute)) {
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
		_, i := started(t, yamlOf("PolicyException", "dev/x", `spec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, podSecurity: [{controlName: Nothing}]}`))
		if found := i.together[objectID{"PolicyException", "dev", "x"}]; len(found) != 1 || !strings.Contains(found[0].Path, "controlName") {
			t.Errorf("%v", i.together)
		}
	})
}
