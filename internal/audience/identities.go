package audience

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// Identity is a runtime that carries claims, and who stands behind it.
type Identity struct {
	Runtime Runtime `json:"runtime"`
	// Claims in the order of the runtime's.
	Claims []ClaimHolders `json:"claims"`
	// Others reach the runtime and do not hold all of its claims.
	Others []Other `json:"others"`
	// More counts those that were left out of Others.
	More int `json:"more,omitempty"`
	// Missing are bindings whose role is not there.
	Missing []cluster.MissingRole `json:"missing,omitempty"`
}

// ClaimHolders is who holds a claim.
type ClaimHolders struct {
	Claim
	Holders []cluster.Holder `json:"holders"`
}

// Other is somebody who reaches a runtime without holding all of its claims.
type Other struct {
	Access
	Lacks []Claim `json:"lacks"`
}

// String is one line for people.
func (o *Other) String() string {
	lacks := make([]string, len(o.Lacks))
	for i, c := range o.Lacks {
		lacks[i] = c.String()
	}
	return o.Access.String() + "; does not hold " + strings.Join(lacks, ", ")
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
	for _, claim := range r.Claims {
		id.Claims = append(id.Claims, ClaimHolders{claim, a.held(claim).Holders})
	}
	if len(r.Claims) == 0 {
		return id
	}
	var accesses []Access
	accesses, id.Missing = a.reach(r)
	var lacks []Claim
	for i := range accesses {
		if i == 0 || accesses[i].Subject != accesses[i-1].Subject {
			lacks = a.lacks(accesses[i].Subject, r.Claims)
		}
		switch {
		case len(lacks) == 0:
		case len(id.Others) == a.limit:
			id.More++
		default:
			id.Others = append(id.Others, Other{accesses[i], lacks})
		}
	}
	return id
}

// held asks who holds a claim, once.
func (a *Audit) held(claim Claim) *cluster.Answer {
	answer := a.holders[claim]
	if answer == nil {
		found := a.rbac.WhoCan(claim.Question())
		answer = &found
		a.holders[claim] = answer
	}
	return answer
}

// lacks gives the claims that a subject does not hold.
func (a *Audit) lacks(s cluster.Subject, claims []Claim) []Claim {
	if s.Kind == rbacv1.GroupKind && s.Name == cluster.Superusers {
		return nil
	}
	are := selves(s)
	var lacks []Claim
	for _, claim := range claims {
		if !holds(a.held(claim).Holders, are) {
			lacks = append(lacks, claim)
		}
	}
	return lacks
}

func holds(holders []cluster.Holder, are map[cluster.Subject]bool) bool {
	for i := range holders {
		if are[holders[i].Subject] {
			return true
		}
	}
	return false
}

// The groups that users are in without anybody putting them there.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	serviceAccounts = "system:serviceaccounts"
	anonymous       = "system:anonymous"
	accountPrefix   = "system:serviceaccount:"
)

// selves gives the subjects that whoever is s surely is: s, the groups that
// every s is in, and the other name of a service account.
func selves(s cluster.Subject) map[cluster.Subject]bool {
	are := map[cluster.Subject]bool{s: true}
	group := func(names ...string) {
		for _, name := range names {
			are[cluster.Subject{Kind: rbacv1.GroupKind, Name: name}] = true
		}
	}
	account := func(namespace, name string) {
		are[cluster.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}] = true
		are[cluster.Subject{Kind: rbacv1.UserKind, Name: accountPrefix + namespace + ":" + name}] = true
		group(serviceAccounts, serviceAccounts+":"+namespace, authenticated)
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		account(s.Namespace, s.Name)
	case rbacv1.UserKind:
		rest, isAccount := strings.CutPrefix(s.Name, accountPrefix)
		namespace, name, whole := strings.Cut(rest, ":")
		switch {
		case s.Name == anonymous:
			group(unauthenticated)
		case isAccount && whole:
			account(namespace, name)
		default:
			group(authenticated)
		}
	case rbacv1.GroupKind:
		if s.Name != unauthenticated {
			group(authenticated)
		}
		if strings.HasPrefix(s.Name, serviceAccounts+":") {
			group(serviceAccounts)
		}
	}
	return are
}
