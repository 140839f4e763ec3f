package exception

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Excusable is a kind of policy whose rules can be excused.
type Excusable struct {
	Kind, Resource string
	Namespaced     bool
	// Guarded kinds are about rights and identities that reach beyond a namespace:
	// a PolicyException excuses from them only where an ExceptionPolicy names the
	// kind.
	Guarded bool
	// asked kinds are those that an approval without kinds was asked about, before
	// approvals were pinned to kinds.
	asked bool
}

// excusables is the one table of them. Whatever asks who may approve, says what a
// name means, or pins an approval, goes by it.
var excusables = []Excusable{
	excusable(Excusable{Kind: "ClusterPolicy", asked: true}),
	excusable(Excusable{Kind: "Policy", asked: true}),
	excusable(Excusable{Kind: "DenyPolicy", Guarded: true, asked: true}),
	excusable(Excusable{Kind: "ClusterAdmissionPolicy"}),
	excusable(Excusable{Kind: "AdmissionPolicy"}),
	excusable(Excusable{Kind: "IdentitySource", Guarded: true}),
}

// excusable fills in what is known of the kind.
func excusable(e Excusable) Excusable {
	e.Resource, e.Namespaced = v1alpha1.Plural(e.Kind), v1alpha1.Namespaced(e.Kind)
	return e
}

// Excusables lists the kinds of policies that can be excused.
func Excusables() []Excusable { return slices.Clone(excusables) }

// CanBeExcused reports whether rules of a kind of policy can be excused.
func CanBeExcused(kind string) bool {
	_, ok := excusableKind(kind)
	return ok
}

func excusableKind(kind string) (Excusable, bool) {
	i := slices.IndexFunc(excusables, func(e Excusable) bool { return e.Kind == kind })
	if i < 0 {
		return Excusable{}, false
	}
	return excusables[i], true
}

// excusableNames are the kinds in words.
func excusableNames() string {
	names := make([]string, len(excusables))
	for i := range excusables {
		names[i] = excusables[i].Kind
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Reachable lists the kinds of policies that an entry of an exception can mean:
// by the kind that it gives, by whether its name has a namespace, and by whether
// the exception is in one, which is ownNamespace.
func Reachable(entry *v1alpha1.ExceptedRules, ownNamespace string) []Excusable {
	return reachable(entry.PolicyKind, strings.Contains(entry.PolicyName, "/"), ownNamespace)
}

func reachable(kind string, qualified bool, ownNamespace string) []Excusable {
	var kinds []Excusable
	for _, e := range excusables {
		switch {
		case kind != "" && e.Kind != kind:
		case qualified && !e.Namespaced:
		case !qualified && e.Namespaced && ownNamespace == "":
		default:
			kinds = append(kinds, e)
		}
	}
	return kinds
}

// reachable lists the kinds that the entry can mean.
func (r *ruleName) reachable() []Excusable {
	return reachable(r.kind, r.namespace != "", r.ownNamespace)
}

// fullName is the name by which an ExceptionPolicy knows a policy of the kind that
// the entry means.
func (r *ruleName) fullName(k Excusable) string {
	switch {
	case r.namespace != "":
		return r.namespace + "/" + r.policy
	case k.Namespaced:
		return r.ownNamespace + "/" + r.policy
	}
	return r.policy
}
