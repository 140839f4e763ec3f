package holders

import (
	"slices"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// held is who holds a claim.
type held struct {
	holders []cluster.Holder
	by      map[cluster.Subject]bool
}

// held asks who holds a claim, once. One that nobody can be granted has no
// holders, whatever the rules say.
func (a *Audit) held(claim *Carried) *held {
	if claim.Fault != "" {
		return &held{holders: []cluster.Holder{}}
	}
	found := a.claims[claim.Claim]
	if found == nil {
		found = &held{holders: a.rbac.WhoCan(claim.Question()).Holders, by: map[cluster.Subject]bool{}}
		for i := range found.holders {
			found.by[found.holders[i].Subject] = true
		}
		a.claims[claim.Claim] = found
	}
	return found
}

// holds reports whether somebody who is all of these holds the claim.
func (h *held) holds(are []cluster.Subject) bool {
	return slices.ContainsFunc(are, func(s cluster.Subject) bool { return h.by[s] })
}

// lackers tells which claims of a runtime a subject does not hold.
type lackers struct {
	audit   *Audit
	runtime *Runtime
	// known are the answers by which claims they are about.
	known map[string]*lacking
}

// lacking are claims that somebody does not hold.
type lacking struct {
	claims []Claim
	asked  *asked
}

func (l *lackers) of(s cluster.Subject) *lacking {
	a := l.audit
	are, known := a.selves[s]
	if !known {
		are = selves(s)
		a.selves[s] = are
	}
	key := a.key[:0]
	for i := range l.runtime.Claims {
		mark := byte('-')
		if c := &l.runtime.Claims[i]; c.Fault != "" || !a.held(c).holds(are) {
			mark = 'l'
		}
		key = append(key, mark)
	}
	a.key = key
	if found := l.known[string(key)]; found != nil {
		return found
	}
	found := &lacking{}
	var carried []Carried
	for i, mark := range key {
		if mark == 'l' {
			carried = append(carried, l.runtime.Claims[i])
			found.claims = append(found.claims, l.runtime.Claims[i].Claim)
		}
	}
	found.asked = asksFor(carried)
	if l.known == nil {
		l.known = map[string]*lacking{}
	}
	l.known[string(key)] = found
	return found
}
