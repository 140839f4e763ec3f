package check

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Checker judges documents one by one.
type Checker struct {
	judge.Collector
	Flags    *Options
	user     request.User
	Policies *judge.PolicySet
	Cluster  *ManifestNamespaces
	old      oldObjects
	Now      time.Time
	// Completed makes of documents what is judged.
	Completed *judge.Completer
	// looksAtAdded are the rules that look at what plugins of the API server add,
	// with what that is; each until it was told of.
	looksAtAdded map[ruleKey]string
	// host answers what policies read.
	host request.Host
	// resembling are kinds that were said to look as if they made pods.
	resembling map[schema.GroupKind]bool
}

// Document judges one document, as the API server would put it to a webhook.
func (c *Checker) Document(ctx context.Context, stderr io.Writer, d *load.Document) {
	namespace := judge.NamespaceOf(d, c.Flags.Namespace)
	apiVersion, kind := d.GVK.ToAPIVersionAndKind()
	resource := decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: d.Name}
	object, err := c.Completed.Object(ctx, d, namespace)
	if err != nil {
		for _, p := range judge.ProblemsOf(d, namespace, err) {
			c.fail(stderr, &p, resource)
		}
		return
	}
	c.webhookFaults(stderr, d, resource)
	r := &request.Request{
		Door: request.Admission, Time: c.Now, User: c.user,
		Operation: request.Operation(c.Flags.Operation), Kind: d.GVK, Resource: resourceOf(d.GVK),
		Namespace: namespace, Name: d.Name, Object: object,
		Cluster: cluster.PerRequest(c.Cluster), Authorizer: c.Policies.Cluster, Host: c.host, Source: d.Origin(), Unconverted: true,
	}
	r.Write = request.BareOptions(r.Operation)
	c.Policies.Place(r, c.Flags.cluster)
	if r.Name == "" {
		r.Name = object.Meta.GenerateName
	}
	switch r.Operation {
	case request.Update:
		old, ok := c.old[oldKey{d.GVK.GroupKind(), namespace, d.Name}]
		if !ok {
			p := judge.ProblemOf(d, namespace, "", "does not stand in "+c.Flags.old+", and so cannot be judged as an UPDATE")
			c.fail(stderr, &p, resource)
			return
		}
		r.OldObject = old
	case request.Delete:
		r.Object, r.OldObject = nil, object
	}
	before, unruled := len(c.Results), c.Unruled
	c.Decide(ctx, c.Policies.Set, r, d)
	if r.Operation == request.Create && d.GVK.Group == "" && d.GVK.Kind == "Pod" {
		c.printAdded(stderr, c.Results[before:])
	}
	if c.Unruled > unruled {
		c.printResemblance(stderr, r)
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
func loadOld(ctx context.Context, path, namespace string, completed *judge.Completer) (oldObjects, error) {
	if path == "" {
		return nil, nil
	}
	old := oldObjects{}
	var wrong stored.Problems
	for d, problems := range load.Manifests([]string{path}, nil) {
		wrong = append(wrong, problems...)
		if d == nil {
			continue
		}
		in := judge.NamespaceOf(d, namespace)
		object, err := completed.Object(ctx, d, in)
		if err != nil {
			wrong = append(wrong, judge.ProblemsOf(d, in, err)...)
			continue
		}
		old[oldKey{d.GVK.GroupKind(), in, d.Name}] = object
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return old, nil
}
