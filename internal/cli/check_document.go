package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/wire"
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
		Cluster: cluster.PerRequest(c.cluster), Authorizer: c.policies.cluster, Host: c.host, Source: d.Origin(), Unconverted: true,
	}
	r.Write = request.BareOptions(r.Operation)
	c.policies.place(r, c.flags.cluster)
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
	c.decide(ctx, c.policies.set, r, d)
	if r.Operation == request.Create && d.GVK.Group == "" && d.GVK.Kind == "Pod" {
		c.tellAdded(stderr, c.results[before:])
	}
	if c.unruled > unruled {
		c.tellResemblance(stderr, r)
	}
}

// problemsOf makes problems of what decoding a document came to.
func problemsOf(d *load.Document, namespace string, err error) stored.Problems {
	var problems stored.Problems
	for _, e := range wire.ErrorsOf(err) {
		problems = append(problems, problemOf(d, namespace, e.Path, e.Detail))
	}
	return problems
}

func problemOf(d *load.Document, namespace, path, detail string) stored.Problem {
	return stored.Problem{Origin: d.Origin(), Kind: d.GVK.Kind, Namespace: namespace, Name: d.Name, Path: path, Detail: detail}
}

// namespaceOf is the namespace of the request about a document: its own, the
// given one, or none for a kind that is known to have none.
func namespaceOf(d *load.Document, otherwise string) string {
	switch {
	case d.GVK.Group == "" && d.GVK.Kind == "Namespace":
		// The API server asks about a namespace in that namespace.
		return d.Name
	case match.ClusterScoped(d.GVK.GroupKind()):
		return ""
	case d.Namespace != "":
		return d.Namespace
	default:
		return otherwise
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
	var wrong stored.Problems
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

// joined lists paths in words.
func joined(paths []string) string {
	named := make([]string, len(paths))
	for i, path := range paths {
		if named[i] = path; path == "-" {
			named[i] = "standard input"
		}
	}
	return strings.Join(named, ", ")
}
