package policy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// Asked is what a policy is about at the front door: what some webhook has to ask
// about for the policy to be held to.
type Asked struct {
	Policy stored.Ref
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
func (s *Set) Makes(kind schema.GroupKind) bool { return s.Registry.Makes(kind) }

// Asked lists what the rules of ClusterPolicies and Policies, and the modules of
// policies that run here, are about. here reports whether a policy is asked about
// here. What cannot work and is answered by its fail mode is among
// them, wherever it would run.
func (s *Set) Asked(here func(p *runner.Policy) bool) []Asked {
	var all []Asked
	of := map[stored.Ref]int{}
	about := func(r *clusterpolicy.Rule) *Asked {
		ref := stored.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Policy}
		at, ok := of[ref]
		if !ok {
			at = len(all)
			of[ref], all = at, append(all, Asked{Policy: ref, Ignore: r.IgnoreErrors})
		}
		return &all[at]
	}
	for _, r := range s.rules.All {
		a := about(r)
		a.Rules = append(a.Rules, r.Match.Asks())
		a.MakesPods = a.MakesPods || r.Generated.On
	}
	for _, p := range s.Modules.All {
		if !here(p.Guest) && p.StandsFor() == nil {
			continue
		}
		a := about(p.Rule)
		a.Mutates = p.Guest.Mutating
		for _, w := range p.RulesOf(s.Runner) {
			asked := AskedResources{Groups: w.Groups, Resources: w.Resources}
			for _, o := range w.Operations {
				asked.Operations = append(asked.Operations, request.Operation(o))
			}
			a.Resources = append(a.Resources, asked)
		}
		if p.Wide {
			a.Resources = append(a.Resources, AskedResources{[]string{stored.Anything}, []string{stored.Anything}, []request.Operation{request.Create, request.Update}})
		}
	}
	return all
}
