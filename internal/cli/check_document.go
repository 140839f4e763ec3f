package cli

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// checker judges documents one by one.
type checker struct {
	collector
	flags    *checkFlags
	user     request.User
	policies *policySet
	cluster  *manifestNamespaces
	old      oldObjects
	now      time.Time
	// completed makes of documents what is judged.
	completed *completer
	// looksAtAdded are the rules that look at what plugins of the API server add,
	// with what that is; each until it was told of.
	looksAtAdded map[ruleKey]string
	// host answers what policies read.
	host request.Host
	// resembling are kinds that were said to look as if they made pods.
	resembling map[schema.GroupKind]bool
}

// document judges one document, as the API server would put it to a webhook.
func (c *checker) document(ctx context.Context, stderr io.Writer, d *load.Document) {
	namespace := namespaceOf(d, c.flags.namespace)
	apiVersion, kind := d.GVK.ToAPIVersionAndKind()
	resource := decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: d.Name}
	object, err := c.completed.object(ctx, d, namespace)
	if err != nil {
		for _, p := range problemsOf(d, namespace, err) {
			c.fail(stderr, &p, resource)
		}
		return
	}
	r := &request.Request{
		Door: request.Admission, Time: c.now, User: c.user,
		Operation: request.Operation(c.flags.operation), Kind: d.GVK, Resource: resourceOf(d.GVK),
		Namespace: namespace, Name: d.Name, Object: object,
		Cluster: cluster.PerRequest(c.cluster), Authorizer: c.policies.Cluster, Host: c.host, Source: d.Origin(), Unconverted: true,
	}
	r.Write = request.BareOptions(r.Operation)
	c.policies.Place(r, c.flags.cluster)
	if r.Name == "" {
		r.Name = object.Meta.GenerateName
	}
	switch r.Operation {
	case request.Update:
		old, ok := c.old[oldKey{d.GVK.GroupKind(), namespace, d.Name}]
		if !ok {
			p := problemOf(d, namespace, "", "does not stand in "+c.flags.old+", and so cannot be judged as an UPDATE")
			c.fail(stderr, &p, resource)
			return
		}
		r.OldObject = old
	case request.Delete:
		r.Object, r.OldObject = nil, object
	}
	before, unruled := len(c.results), c.unruled
	c.decide(ctx, c.policies.Set, r, d)
	if r.Operation == request.Create && d.GVK.Group == "" && d.GVK.Kind == "Pod" {
		c.tellAdded(stderr, c.results[before:])
	}
	if c.unruled > unruled {
		c.tellResemblance(stderr, r)
	}
}

// resourceOf is the resource of a kind. There is no API server to ask; the
// plural follows the rules that kinds are named by.
func resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural
}

// oldObjects are the objects before an update.
type oldObjects map[oldKey]*pod.Object

type oldKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// loadOld reads the objects before an update.
func loadOld(ctx context.Context, path, namespace string, completed *completer) (oldObjects, error) {
	if path == "" {
		return nil, nil
	}
	old := oldObjects{}
	var wrong policy.Problems
	for d, problems := range load.Manifests([]string{path}, nil) {
		wrong = append(wrong, problems...)
		if d == nil {
			continue
		}
		in := namespaceOf(d, namespace)
		object, err := completed.object(ctx, d, in)
		if err != nil {
			wrong = append(wrong, problemsOf(d, in, err)...)
			continue
		}
		old[oldKey{d.GVK.GroupKind(), in, d.Name}] = object
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return old, nil
}
