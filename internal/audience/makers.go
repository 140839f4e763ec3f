package audience

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/pod"
)

// builtinMakers are the kinds of Kubernetes that make pods, or hold what pods
// are made of.
func builtinMakers() []ask {
	var asks []ask
	for _, in := range []struct {
		group     string
		resources []string
	}{
		{"apps", []string{"deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"}},
		{"batch", []string{"jobs", "cronjobs"}},
		{"", []string{"replicationcontrollers", "podtemplates"}},
	} {
		for _, resource := range in.resources {
			asks = append(asks, ask{group: in.group, resource: resource, verbs: makeVerbs})
		}
	}
	return asks
}

// withoutTemplate are resources of other projects that make pods with a service
// account of the writer's choice, and have no pod template in them.
var withoutTemplate = []schema.GroupResource{
	{Group: "argoproj.io", Resource: "cronworkflows"},
	{Group: "argoproj.io", Resource: "workflows"},
	{Group: "kubevirt.io", Resource: "virtualmachineinstancereplicasets"},
	{Group: "kubevirt.io", Resource: "virtualmachineinstances"},
	{Group: "kubevirt.io", Resource: "virtualmachines"},
	{Group: "tekton.dev", Resource: "pipelineruns"},
	{Group: "tekton.dev", Resource: "taskruns"},
}

// Makers are the resources of other projects that are known to make pods.
func Makers() []schema.GroupResource {
	var makers []schema.GroupResource
	for _, r := range pod.Shipped() {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: r.Group, Kind: r.Kind})
		makers = append(makers, plural.GroupResource())
	}
	return append(makers, withoutTemplate...)
}
