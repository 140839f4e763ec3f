package workflow

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// meant is a policy that an entry of an exception means, or, where a name is a
// pattern, all of its kind that the pattern matches.
type meant struct {
	kind            exception.Excusable
	namespace, name string
	// there is set for a policy that is there now.
	there bool
}

// meansOf lists what an entry means, of a request or an exception of a namespace,
// which is empty for an exception that has none. A name means the policies that
// are called so now. One that means none yet, or a pattern, means whatever it can
// come to mean, of every kind that can be excused.
func meansOf(set *policy.Set, entry *v1alpha1.ExceptedRules, ownNamespace string) []meant {
	namespace, name, qualified := strings.Cut(entry.PolicyName, "/")
	if !qualified {
		namespace, name = "", entry.PolicyName
	}
	kinds := exception.Reachable(entry, ownNamespace)
	var list []meant
	if !glob.IsPattern(entry.PolicyName) {
		for _, p := range set.Named(entry.PolicyKind, namespace, ownNamespace, name) {
			if i := slices.IndexFunc(kinds, func(k exception.Excusable) bool { return k.Kind == p.Kind }); i >= 0 {
				list = append(list, meant{kinds[i], p.Namespace, p.Name, true})
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	for _, k := range kinds {
		m := meant{kind: k, name: name}
		if k.Namespaced {
			m.namespace = namespace
			if !qualified {
				m.namespace = ownNamespace
			}
		}
		list = append(list, m)
	}
	return list
}

// means lists what an entry means by the policies in force.
func (g *Guard) means(entry *v1alpha1.ExceptedRules, ownNamespace string) []meant {
	return meansOf(g.Set(), entry, ownNamespace)
}

// ruled is what is meant as an ExceptionPolicy knows it.
func (m *meant) ruled() exception.Meant {
	name := m.name
	if m.kind.Namespaced {
		name = m.namespace + "/" + name
	}
	return exception.Meant{Kind: m.kind, Name: name}
}

// right is what approving exceptions to it takes: approve on the policy, in its
// own namespace if it has one and cluster-wide otherwise, so that no Role gives it;
// on all of the kind where a pattern may come to mean more.
func (m *meant) right() request.Attributes {
	a := request.Attributes{
		Verb: VerbApprove, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: m.kind.Resource, Namespace: m.namespace, Name: m.name,
	}
	if glob.IsPattern(a.Name) {
		a.Name = ""
	}
	if glob.IsPattern(a.Namespace) {
		a.Namespace = ""
	}
	return a
}

// kindsOf lists the kinds of what is meant, each once.
func kindsOf(list []meant) []string {
	kinds := []string{}
	for i := range list {
		if !slices.Contains(kinds, list[i].kind.Kind) {
			kinds = append(kinds, list[i].kind.Kind)
		}
	}
	return kinds
}

// pinned says which kinds of policies an entry means that names none, so that what
// was approved does not come to hold for a policy of another kind that is made
// later under that name.
func (g *Guard) pinned(x v1alpha1.RequestedException, ownNamespace string) []v1alpha1.RequestedException {
	if x.PolicyKind != "" {
		return []v1alpha1.RequestedException{x}
	}
	var pinned []v1alpha1.RequestedException
	for _, kind := range kindsOf(g.means(&x.ExceptedRules, ownNamespace)) {
		one := x
		one.PolicyKind = kind
		pinned = append(pinned, one)
	}
	return pinned
}
