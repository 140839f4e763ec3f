package policy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/wasm/guest"
)

// moduleIndex finds the policies that can be about a resource, so that a decision
// costs nothing for the others.
type moduleIndex struct {
	all []*modulePolicy
	// byResource has those that name the resource, open those that may be about any.
	byResource map[string][]int
	open       []int
	// byID has those of each ModuleID.
	byID map[string]*moduleIndex
}

// order sorts the policies, those of the cluster first, and builds the indexes.
func (x *moduleIndex) order() {
	slices.SortFunc(x.all, func(a, b *modulePolicy) int {
		return cmp.Or(-cmp.Compare(a.rule.kind, b.rule.kind), cmp.Compare(a.rule.namespace, b.rule.namespace), cmp.Compare(a.rule.policy, b.rule.policy))
	})
	x.index()
	x.byID = map[string]*moduleIndex{}
	for _, p := range x.all {
		id := p.ref().ModuleID()
		if x.byID[id] == nil {
			x.byID[id] = &moduleIndex{}
		}
		x.byID[id].all = append(x.byID[id].all, p)
	}
	for _, same := range x.byID {
		same.index()
	}
}

// index finds out which policies are about which resources.
func (x *moduleIndex) index() {
	x.byResource = map[string][]int{}
	for i, p := range x.all {
		names, all := p.resources()
		if all {
			x.open = append(x.open, i)
			continue
		}
		for _, name := range names {
			x.byResource[name] = append(x.byResource[name], i)
		}
	}
}

// resources are those that the policy names; all is set if it may be about any.
func (p *modulePolicy) resources() (names []string, all bool) {
	for _, rule := range p.rules {
		some, named := rule.named()
		if !named {
			return nil, true
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

// about calls visit with each policy that may be about the resource, in order.
func (x *moduleIndex) about(resource string, visit func(*modulePolicy)) {
	named, open := x.byResource[resource], x.open
	for len(named) > 0 || len(open) > 0 {
		var next int
		if len(open) == 0 || len(named) > 0 && named[0] < open[0] {
			next, named = named[0], named[1:]
		} else {
			next, open = open[0], open[1:]
		}
		visit(x.all[next])
	}
}

// ModulePolicies are the policies of the set that are modules and can work.
func (s *moduleSet) ModulePolicies() []*guest.Policy {
	policies := make([]*guest.Policy, 0, len(s.modules.all))
	for _, p := range s.modules.all {
		if p.broken == nil {
			policies = append(policies, p.guest)
		}
	}
	return policies
}

// ModulePolicy is the policy of that name that is a module; nil if there is none.
func (s *moduleSet) ModulePolicy(ref PolicyRef) *guest.Policy {
	for _, p := range s.modules.all {
		if p.broken == nil && p.rule.kind == ref.Kind && p.rule.namespace == ref.Namespace && p.rule.policy == ref.Name {
			return p.guest
		}
	}
	return nil
}

// modulesInBackground reports whether a module is asked about objects of the kind
// that are in the cluster already.
func (s *moduleSet) modulesInBackground(resource schema.GroupVersionResource) bool {
	found := false
	s.modules.about(resource.Resource, func(p *modulePolicy) {
		for _, rule := range p.rulesOf(s.runner) {
			found = found || p.rule.background && (s.runs(p) || p.standsFor() != nil) && rule.aboutServed(resource.Group, resource.Resource) && rule.aboutResource(resource.Resource, "")
		}
	})
	return found
}
