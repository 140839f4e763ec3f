package demo

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"time"

	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/internal/cli/access"
	"github.com/sallyport-io/sallyport/internal/cli/check"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// scene is one request of the demo.
type scene struct {
	// command is what somebody types, and remark what there is to know about it.
	command, remark string
	// manifest is the file that is applied, at the front door.
	manifest string
	// subresource, namespace and pod are entered, at the side door.
	subresource, namespace, pod string
}

var frontScenes = []scene{
	{command: "kubectl apply -f web.yaml", remark: "a Deployment that meets the restricted standard", manifest: "web.yaml"},
	{command: "kubectl apply -f cache.yaml", remark: "a Pod that forgot its seccomp profile", manifest: "cache.yaml"},
	{command: "kubectl apply -f node-agent.yaml", remark: "a DaemonSet that takes the node, from an init container too", manifest: "node-agent.yaml"},
	{command: "kubectl apply -f prober.yaml", remark: "a CronJob whose probe makes the kubelet call somebody else", manifest: "prober.yaml"},
}

var sideScenes = []scene{
	{command: "kubectl exec -n shop web-0 -- sh", remark: "nothing about this pod is risky", subresource: "exec", namespace: "shop", pod: "web-0"},
	{command: "kubectl exec -n shop cache-0 -- sh", remark: "it runs as root", subresource: "exec", namespace: "shop", pod: "cache-0"},
	{command: "kubectl exec -n ops builder-0 -- sh", remark: "it is privileged, and runs as root", subresource: "exec", namespace: "ops", pod: "builder-0"},
	{command: "kubectl port-forward -n ops router-0 8080", remark: "it is in the node's network", subresource: "portforward", namespace: "ops", pod: "router-0"},
	{command: "kubectl attach -n kube-system proxy-0", remark: "privileged as well, in a namespace that is exempt", subresource: "attach", namespace: "kube-system", pod: "proxy-0"},
	{command: "kubectl exec -n ops gone-0 -- sh", remark: "a pod that cannot be read", subresource: "exec", namespace: "ops", pod: "gone-0"},
}

// act is what a scene came to.
type act struct {
	decision decision.Decision
	places   []output.Place
}

// stage is what the scenes are judged by.
type stage struct{ policies *judge.PolicySet }

func newStage() (*stage, error) {
	policies, err := judge.Compile(load.Collect(embedded("demo/policies", "demo/cluster")), []string{"the built-in examples"}, exception.Options{})
	if err != nil {
		return nil, err
	}
	return &stage{policies}, nil
}

// embedded reads the documents in folders of the built-in examples.
func embedded(folders ...string) iter.Seq2[*load.Document, stored.Problems] {
	return func(yield func(*load.Document, stored.Problems) bool) {
		for _, folder := range folders {
			// Folders that are built in can be listed.
			entries, _ := fs.ReadDir(examples.Files, folder)
			for _, entry := range entries {
				for d, problems := range embeddedFile(path.Join(folder, entry.Name())) {
					if !yield(d, problems) {
						return
					}
				}
			}
		}
	}
}

func embeddedFile(name string) iter.Seq2[*load.Document, stored.Problems] {
	data, err := examples.Files.ReadFile(name)
	if err != nil {
		return func(yield func(*load.Document, stored.Problems) bool) {
			yield(nil, stored.Problems{{Origin: name, Detail: "is not built in"}})
		}
	}
	return load.Parse(name, data)
}

// front judges the creation of the objects in a manifest.
func (s *stage) front(ctx context.Context, sc *scene) (act, error) {
	c := check.Checker{
		Flags: &check.Options{Operation: string(request.Create), Namespace: "default"}, Policies: s.policies, Now: time.Now(),
		Cluster: &check.ManifestNamespaces{Files: s.policies.Cluster}, Completed: judge.NewCompleter(s.policies.Set.Pods(), io.Discard),
	}
	for d, problems := range embeddedFile("demo/manifests/" + sc.manifest) {
		if len(problems) > 0 {
			return act{}, fmt.Errorf("a built-in example is broken: %w", problems)
		}
		// What stands in the repository is named as if one stood beside it.
		d.File = sc.manifest
		c.Document(ctx, nil, d)
	}
	return act{decision.Of(c.Results), c.Places}, nil
}

// side judges an access.
func (s *stage) side(ctx context.Context, sc *scene) (act, error) {
	t := access.Target{Subresource: sc.subresource, Namespace: sc.namespace, Name: sc.pod}
	var c judge.Collector
	c.Decide(ctx, s.policies.Set, &request.Request{
		Door: request.Access, Time: time.Now(), Verb: t.UsualVerb(), User: request.User{Name: "you"},
		Resource: t.Resource(), Subresource: t.Subresource, Namespace: t.Namespace, Name: t.Name,
		Cluster: cluster.PerRequest(s.policies.Cluster), Authorizer: s.policies.Cluster,
	}, nil)
	return act{decision.Of(c.Results), c.Places}, nil
}
