package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// originAPI comes after every origin of files, whose clusters so count first.
const originAPI = "~api"

// statusEvery is how often the status of ClusterConfigs is looked at without a
// change.
const statusEvery = 5 * time.Second

// Informer feeds a Hub with the ClusterConfigs of an API server and the Secrets
// that they name.
type Informer struct {
	hub     *Hub
	objects cache.Cache
	client  client.Client
	secrets *secrets
	clock   clock.WithTicker
	log     logr.Logger
	// leads says whether this replica is the one that writes.
	leads func() bool

	changed, healthChanged notice.Notice
	synced                 atomic.Bool
	// What follows is used only by Run.
	good   map[types.UID]*v1alpha1.ClusterConfig
	put    []Definition
	taken  []Definition
	status []told
}

// NewInformer makes an Informer for the API server that config leads to. Secrets
// are read only from one namespace. ClusterConfigs are followed in the way of followed.
func NewInformer(config *rest.Config, hub *Hub, namespace string, leads func() bool, followed *ours.Kinds) (*Informer, error) {
	objects, err := followed.Cache(config, cache.Options{})
	if err != nil {
		return nil, fmt.Errorf("ClusterConfigs cannot be watched: %w", err)
	}
	writer, err := client.New(pace.Few.Of(leader.Only(config, leads)), client.Options{})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	core, err := kubernetes.NewForConfig(pace.Watches.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	i := &Informer{
		hub: hub, objects: objects, client: writer, clock: hub.options.Clock, log: hub.options.Log, leads: leads,
		changed: notice.New(), healthChanged: notice.New(), good: map[types.UID]*v1alpha1.ClusterConfig{},
	}
	i.secrets = newSecrets(core.CoreV1().RESTClient(), namespace, followed.Beside("secrets"), i.changed.Give)
	hub.OnChange(i.healthChanged.Give)
	followed.Once(i.synced.Load)
	followed.Expect(clusterconfig.Kind)
	return i, nil
}

// Ready says what is missing before requests for further clusters can be judged.
func (i *Informer) Ready() error {
	if !i.synced.Load() || !i.secrets.tried() {
		return errors.New("the ClusterConfigs of the API server, and the Secrets that they name, were not read yet")
	}
	return nil
}

// Run watches until ctx ends. That ClusterConfigs are not there, or may not be read,
// is not an error: it is tried again.
func (i *Informer) Run(ctx context.Context) error {
	if err := ours.Handle(ctx, i.objects, func(any, any) { i.changed.Give() }, clusterconfig.Kind); err != nil {
		return fmt.Errorf("ClusterConfigs cannot be watched: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- i.objects.Start(ctx) }()
	defer i.secrets.running.Wait()
	if !i.objects.WaitForCacheSync(ctx) {
		return <-stopped
	}
	i.changed.Give()
	ticker := i.clock.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return <-stopped
		case err := <-stopped:
			return err
		case <-i.changed:
			i.reload(ctx)
		case <-i.healthChanged:
		case <-ticker.C():
		}
		i.report(ctx)
	}
}

// told is a ClusterConfig with what is wrong with it.
type told struct {
	object  *unstructured.Unstructured
	id      string
	problem Problem
}

// reload puts what the caches hold into the hub.
func (i *Informer) reload(ctx context.Context) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(clusterconfig.Kind + "List"))
	if err := i.objects.List(ctx, &list); err != nil {
		i.log.Error(err, "ClusterConfigs cannot be listed")
		return
	}
	// The older of two counts.
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	good, names := map[types.UID]*v1alpha1.ClusterConfig{}, map[string]bool{}
	i.status = nil
	var configs []*v1alpha1.ClusterConfig
	var unreadable []Definition
	for k := range list.Items {
		object := &list.Items[k]
		one := told{object: object}
		c, err := decode(object)
		if err != nil {
			one.problem = Problem{ReasonCannotWork, err.Error()}
			if c = i.good[object.GetUID()]; c != nil {
				one.problem.Message += "\nThe last version that could work stays in force."
			} else {
				unreadable = append(unreadable, definitionIn(object, one.problem))
				one.problem.Message += "\nUntil it is corrected, every request for its cluster is refused, and so is every other that its callers make."
			}
		}
		if c != nil {
			good[object.GetUID()] = c
			configs = append(configs, c)
			one.id = clusterconfig.ID(c)
			if ref := c.Spec.KubeconfigSecretRef; wrongNamespace(ref, i.secrets.namespace) == "" {
				names[ref.Name] = true
			}
		}
		i.status = append(i.status, one)
	}
	i.good = good
	if err := i.secrets.want(ctx, names); err != nil {
		i.log.Error(err, "the Secrets of ClusterConfigs cannot be watched")
	}
	definitions := make([]Definition, len(configs))
	for k, c := range configs {
		definitions[k] = definitionOf(c)
		fromSecret(&definitions[k], c.Spec.KubeconfigSecretRef, i.secrets)
	}
	// They count after the others, which can work.
	definitions = append(definitions, unreadable...)
	if !i.synced.Load() || !reflect.DeepEqual(definitions, i.put) {
		i.put, i.taken = definitions, i.hub.Replace(originAPI, definitions)
	}
	i.synced.Store(true)
	i.markTaken()
}

// markTaken says of each ClusterConfig whose cluster is another's that it is. They
// are in one order here and in the hub.
func (i *Informer) markTaken() {
	taken := slices.DeleteFunc(slices.Clone(i.taken), func(d Definition) bool { return d.Unusable != "" })
	for k := len(i.status) - 1; k >= 0; k-- {
		one := &i.status[k]
		at := slices.IndexFunc(taken, func(d Definition) bool { return d.ID == one.id })
		if one.id == "" || at < 0 {
			continue
		}
		taken = slices.Delete(taken, at, at+1)
		if one.problem == (Problem{}) {
			one.problem = Problem{ReasonClusterIDTaken, fmt.Sprintf("the cluster %q is that of an older ClusterConfig, of one from a file, or the server's own, upper and lower case alike; give one of them another clusterID", one.id)}
		}
	}
}

// decode reads a ClusterConfig strictly.
func decode(object *unstructured.Unstructured) (*v1alpha1.ClusterConfig, error) {
	raw, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	c := &v1alpha1.ClusterConfig{}
	if err := apijson.UnmarshalStrict(raw, c); err != nil {
		return nil, err
	}
	if err := clusterconfig.Check(c, false).ToAggregate(); err != nil {
		return nil, err
	}
	return c, nil
}
