package audience

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// Identity is a runtime that carries claims, and who stands behind it.
type Identity struct {
	Runtime Runtime `json:"runtime"`
	// Claims in the order of the runtime's.
	Claims []ClaimHolders `json:"claims"`
	// Others reach the runtime and do not hold all of its claims: first those whom
	// no door stops, each part in the order of subject, binding and rule.
	Others []Other `json:"others"`
	// MoreUnguarded and MoreGuarded count those that were left out of the two parts.
	MoreUnguarded int `json:"moreUnguarded,omitempty"`
	MoreGuarded   int `json:"moreGuarded,omitempty"`
	// Missing are bindings whose role is not there.
	Missing []cluster.MissingRole `json:"-"`
}

// ClaimHolders is who holds a claim.
type ClaimHolders struct {
	Carried
	Holders []cluster.Holder `json:"holders"`
	// More counts those that were left out.
	More int `json:"moreHolders,omitempty"`
}

// Other is somebody who reaches a runtime without holding all of its claims.
type Other struct {
	Access
	Lacks []Claim `json:"lacks"`
}

// String is one line for people.
func (o *Other) String() string { return o.Access.String() + "; " + o.lacking() }

func (o *Other) lacking() string {
	lacks := make([]string, len(o.Lacks))
	for i, c := range o.Lacks {
		lacks[i] = c.String()
	}
	return "does not hold " + strings.Join(lacks, ", ")
}

// Identities tells of each runtime, in their order, who holds its claims, and
// who reaches it without. One that carries no claim has no others.
//
// RBAC does not know who is in a group. A user who holds a claim by a group
// alone counts as one who does not, unless it is a group that every such user is
// in; the claim's holders name the group.
func (a *Audit) Identities(runtimes []Runtime) []Identity {
	identities := make([]Identity, len(runtimes))
	for i := range runtimes {
		identities[i] = a.identity(&runtimes[i])
	}
	return identities
}

func (a *Audit) identity(r *Runtime) Identity {
	id := Identity{Runtime: *r, Claims: []ClaimHolders{}, Others: []Other{}}
	for i := range r.Claims {
		c := ClaimHolders{Carried: r.Claims[i], Holders: a.held(&r.Claims[i]).holders}
		if c.More = len(c.Holders) - a.limit; c.More > 0 {
			c.Holders = c.Holders[:a.limit]
		} else {
			c.More = 0
		}
		id.Claims = append(id.Claims, c)
	}
	if len(r.Claims) == 0 {
		return id
	}
	id.Missing = a.missingIn(r.Namespace)
	lacks := lackers{audit: a, runtime: r}
	var guarded []Other
	if l := lacks.of(superusers); len(l.claims) > 0 {
		id.Others = append(id.Others, Other{Access{Subject: superusers, Ways: everything}, l.claims})
	}
	var subject cluster.Subject
	var lacked *lacking
	for e := range a.reaching(r.Namespace) {
		if lacked == nil || e.subject != subject {
			subject, lacked = e.subject, lacks.of(e.subject)
		}
		if len(lacked.claims) == 0 {
			continue
		}
		ways, stopped := e.opening.waysTo(r, lacked.asked, &a.key)
		if len(ways) == 0 {
			continue
		}
		part, more := &id.Others, &id.MoreUnguarded
		if stopped {
			part, more = &guarded, &id.MoreGuarded
		}
		if len(*part) == a.limit {
			*more++
			continue
		}
		*part = append(*part, Other{Access{e.subject, ways, stopped, e.opening.through}, lacked.claims})
	}
	id.Others = append(id.Others, guarded...)
	return id
}
