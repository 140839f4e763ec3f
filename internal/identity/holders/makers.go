package holders

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
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
	{Group: "kubevirt.io", Resource: "virtualmachineinstancereplicasets"},
	{Group: "kubevirt.io", Resource: "virtualmachineinstances"},
	{Group: "kubevirt.io", Resource: "virtualmachines"},
}

// templated are the resources of other projects in whose objects whole pods are
// found, with the account that these run as.
func templated() []schema.GroupResource {
	var whole []pod.Registration
	for _, r := range pod.Shipped() {
		if !r.Completed {
			whole = append(whole, r)
		}
	}
	pods, err := pod.NewRegistry(whole...)
	if err != nil {
		// They are some of those that pod.Default is made of.
		panic(err)
	}
	return pods.Resources(nil)
}

// Makers are the resources of other projects that are known to make pods, those that
// pods knows among them, and those of more kinds, such as the ones that sources of
// identities read. With nil, pods is what is known without registrations.
func Makers(pods *pod.Registry, more ...schema.GroupKind) []schema.GroupResource {
	if pods == nil {
		pods = pod.Default()
	}
	makers := append(pods.Resources(nil), withoutTemplate...)
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
