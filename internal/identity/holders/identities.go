package holders

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// Identity is a runtime that carries claims, and who stands behind it.
type Identity struct {
	Runtime Runtime `json:"runtime"`
	// Claims in the order of the runtime's.
	Claims []ClaimHolders `json:"claims"`
	// Others reach the runtime and do not hold all of its claims: first those whom
	// no door stops, in the order of subject, binding and rule, parts of Kubernetes
	// last; then those who are refused, in the same order.
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
	// Part: the subject seems to be a part of Kubernetes itself, which a binding
	// that every cluster has gives its rights.
	Part bool `json:"partOfKubernetes,omitempty"`
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
// RBAC does not know who is in a group. A user who holds a claim only by a
// group counts as one who does not, unless it is a group that every such user is
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
		// The group system:masters, which is always among them, does not count.
		if most := a.limit + 1; len(c.Holders) > most {
			c.Holders, c.More = c.Holders[:most], len(c.Holders)-most
		}
		id.Claims = append(id.Claims, c)
	}
	if len(r.Claims) == 0 {
		return id
	}
	id.Missing = a.missingIn(r.Namespace)
	lacks := lackers{audit: a, runtime: r}
	var open, guarded others
	if l := lacks.of(superusers); len(l.claims) > 0 {
		open.add(Other{Access: Access{Subject: superusers, Ways: everything}, Lacks: l.claims}, a.limit)
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
		into := &open
		if stopped {
			into = &guarded
		}
		into.add(Other{
			Access: Access{e.subject, ways, stopped, e.opening.through}, Lacks: lacked.claims, Part: IsPart(e.subject, e.opening.through),
		}, a.limit)
	}
	id.Others = slices.Concat(id.Others, open.people, open.parts, guarded.people, guarded.parts)
	id.MoreUnguarded, id.MoreGuarded = open.more, guarded.more
	return id
}

// others are so many people at most, and so many parts of Kubernetes, which
// every cluster has dozens of: these leave nobody out.
type others struct {
	people, parts []Other
	more          int
}

func (o *others) add(one Other, limit int) {
	list := &o.people
	if one.Part {
		list = &o.parts
	}
	if len(*list) == limit {
		o.more++
		return
	}
	*list = append(*list, one)
}

// IsPart tells the parts of Kubernetes by their names, and by those of the
// bindings and roles that they have.
func IsPart(s cluster.Subject, through *cluster.Through) bool {
	const system = "system:"
	if !strings.HasPrefix(through.Binding.Name, system) || !strings.HasPrefix(through.Role.Name, system) {
		return false
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return s.Namespace == metav1.NamespaceSystem
	case rbacv1.UserKind:
		return strings.HasPrefix(s.Name, "system:kube-")
	default:
		return false
	}
}
