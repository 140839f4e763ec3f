package modulepolicy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// index finds the policies that can be about a resource, so that a decision
// costs nothing for the others.
type index struct {
	All []*Policy
	// byResource has those that name the resource, open those that may be about any.
	byResource map[string][]int
	open       []int
	// ByID has those of each ModuleID.
	ByID map[string]*index
}

// Order sorts the policies, those of the cluster first, and builds the indexes.
func (x *index) Order() {
	slices.SortFunc(x.All, func(a, b *Policy) int {
		return cmp.Or(-cmp.Compare(a.Rule.Kind, b.Rule.Kind), cmp.Compare(a.Rule.Namespace, b.Rule.Namespace), cmp.Compare(a.Rule.Policy, b.Rule.Policy))
	})
	x.index()
	x.ByID = map[string]*index{}
	for _, p := range x.All {
		id := p.ref().ModuleID()
		if x.ByID[id] == nil {
			x.ByID[id] = &index{}
		}
		x.ByID[id].All = append(x.ByID[id].All, p)
	}
	for _, same := range x.ByID {
		same.index()
	}
}

// index finds out which policies are about which resources.
func (x *index) index() {
	x.byResource = map[string][]int{}
	for i, p := range x.All {
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
func (p *Policy) resources() (names []string, all bool) {
	for _, rule := range p.Rules {
		some, named := rule.named()
		if !named {
			return nil, true
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

// About calls visit with each policy that may be about the resource, in order.
func (x *index) About(resource string, visit func(*Policy)) {
	named, open := x.byResource[resource], x.open
	for len(named) > 0 || len(open) > 0 {
		var next int
		if len(open) == 0 || len(named) > 0 && named[0] < open[0] {
			next, named = named[0], named[1:]
		} else {
			next, open = open[0], open[1:]
		}
		visit(x.All[next])
	}
}

// ModulePolicies are the policies of the set that are modules and can work.
func (s *Set) ModulePolicies() []*runner.Policy {
	policies := make([]*runner.Policy, 0, len(s.Modules.All))
	for _, p := range s.Modules.All {
		if p.Broken == nil {
			policies = append(policies, p.Guest)
		}
	}
	return policies
}

// ModulePolicy is the policy of that name that is a module; nil if there is none.
func (s *Set) ModulePolicy(ref stored.Ref) *runner.Policy {
	for _, p := range s.Modules.All {
		if p.Broken == nil && p.Rule.Kind == ref.Kind && p.Rule.Namespace == ref.Namespace && p.Rule.Policy == ref.Name {
			return p.Guest
		}
	}
	return nil
}

// ModulesInBackground reports whether a module is asked about objects of the kind
// that are in the cluster already.
func (s *Set) ModulesInBackground(resource schema.GroupVersionResource) bool {
	found := false
	s.Modules.About(resource.Resource, func(p *Policy) {
		for _, rule := range p.RulesOf(s.Runner) {
			found = found || p.Rule.Background && (s.Runs(p) || p.StandsFor() != nil) && rule.AboutServed(resource.Group, resource.Resource) && rule.aboutResource(resource.Resource, "")
		}
	})
	return found
}
