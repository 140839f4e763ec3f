package risk

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Exemption is a list of factors that do not count.
type Exemption struct {
	factors factorSet
	caps    capabilitySet
}

// CompileExemption reads the names of factors, and capability:NAME, as block lists
// have them. The name capabilities stands for every capability.
func CompileExemption(names []string, path *field.Path) (*Exemption, field.ErrorList) {
	// A block list takes the very same names.
	c := compiler{out: &Rules{}}
	c.blockFactors(names, path)
	before := sets.New[string]()
	for i, name := range names {
		if before.Has(name) {
			c.errs = append(c.errs, field.Duplicate(path.Index(i), name))
		}
		before.Insert(name)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	e := &Exemption{factors: c.out.blocked, caps: c.out.blockedCaps}
	if e.factors.has(Capabilities) {
		e.caps = ^capabilitySet(0)
	}
	return e, nil
}

// Both is what both exempt.
func (e *Exemption) Both(other *Exemption) *Exemption {
	return &Exemption{factors: e.factors & other.factors, caps: e.caps & other.caps}
}

// Empty reports whether nothing is exempt.
func (e *Exemption) Empty() bool { return e == nil || e.factors == 0 && e.caps == 0 }

// Without returns rules for which the exempt factors count neither for the block
// list nor for the score.
func (r *Rules) Without(e *Exemption) *Rules {
	if e.Empty() {
		return r
	}
	changed := *r
	changed.weighed &^= e.factors
	changed.blocked &^= e.factors
	for f := range numFactors {
		if e.factors.has(f) {
			changed.weights[f] = 0
		}
	}
	changed.weighedCaps &^= e.caps
	changed.blockedCaps &^= e.caps
	changed.exemptCaps |= e.caps
	return &changed
}
