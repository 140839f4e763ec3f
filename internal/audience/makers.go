package audience

import (
	"slices"

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
			asks = append(asks, ask{group: in.group, resource: resource, verbs: makeVerbs, guard: always})
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

// templated are the resources of other projects in whose objects pod templates
// are found.
func templated() []schema.GroupResource {
	var found []schema.GroupResource
	for _, r := range pod.Shipped() {
		found = append(found, resourceOf(schema.GroupKind{Group: r.Group, Kind: r.Kind}))
	}
	return found
}

// Makers are the resources of other projects that are known to make pods, and
// those of more kinds, such as the ones that sources of identities read.
func Makers(more ...schema.GroupKind) []schema.GroupResource {
	makers := append(templated(), withoutTemplate...)
	for _, gk := range more {
		if r := resourceOf(gk); !slices.Contains(makers, r) {
			makers = append(makers, r)
		}
	}
	return makers
}

// askMakers asks for those who make objects of the resources. A door finds the
// claims of a template that it knows, and of other kinds those that a source
// reads.
func askMakers(makers []schema.GroupResource) []ask {
	known := templated()
	asks := make([]ask, len(makers))
	for i, m := range makers {
		asks[i] = ask{group: m.Group, resource: m.Resource, verbs: makeVerbs, guard: byKind}
		if slices.Contains(known, m) {
			asks[i].guard = always
		}
	}
	return asks
}
