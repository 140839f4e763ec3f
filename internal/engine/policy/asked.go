package policy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/wasm/guest"
)

// Asked is what a policy is about at the front door: what some webhook has to ask
// about for the policy to be held to.
type Asked struct {
	Policy PolicyRef
	// Ignore is set where what cannot be judged is let in, and Mutates where the policy
	// changes objects.
	Ignore, Mutates bool
	// Rules are what each rule names, and Resources what modules do.
	Rules     [][]match.Ask
	Resources []AskedResources
	// MakesPods is set where it holds for whatever makes pods too.
	MakesPods bool
}

// AskedResources is a rule of a webhook.
type AskedResources struct {
	Groups, Resources []string
	Operations        []request.Operation
}

// Makes reports whether a kind makes pods.
func (s *Set) Makes(kind schema.GroupKind) bool { return s.pods.Makes(kind) }

// Asked lists what the rules of ClusterPolicies and Policies, and the modules of
// policies that run here, are about. here reports whether a policy is asked about
// here. What cannot work and is answered by its fail mode is among
// them, wherever it would run.
func (s *Set) Asked(here func(p *guest.Policy) bool) []Asked {
	var all []Asked
	of := map[PolicyRef]int{}
	about := func(r *rule) *Asked {
		ref := PolicyRef{r.kind, r.namespace, r.policy}
		at, ok := of[ref]
		if !ok {
			at = len(all)
			of[ref], all = at, append(all, Asked{Policy: ref, Ignore: r.ignoreErrors})
		}
		return &all[at]
	}
	for _, r := range s.rules.all {
		a := about(r)
		a.Rules = append(a.Rules, r.match.Asks())
		a.MakesPods = a.MakesPods || r.generated.on
	}
	for _, p := range s.modules.all {
		if !here(p.guest) && p.standsFor() == nil {
			continue
		}
		a := about(p.rule)
		a.Mutates = p.guest.Mutating
		for _, w := range p.rulesOf(s.runner) {
			asked := AskedResources{Groups: w.groups, Resources: w.resources}
			for _, o := range w.operations {
				asked.Operations = append(asked.Operations, request.Operation(o))
			}
			a.Resources = append(a.Resources, asked)
		}
		if p.wide {
			a.Resources = append(a.Resources, AskedResources{[]string{anything}, []string{anything}, []request.Operation{request.Create, request.Update}})
		}
	}
	return all
}
