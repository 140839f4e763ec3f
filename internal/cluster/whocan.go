package cluster

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Question is what somebody may do, or some of what.
type Question struct {
	request.Attributes
	// AnySubresource asks for whoever may do it with one subresource at least,
	// whichever; that of the attributes does not count.
	AnySubresource bool
	// AnyName asks for whoever may do it to one object at least, whatever its
	// name; that of the attributes does not count.
	AnyName bool
}

// Holder is somebody who may do what was asked.
type Holder struct {
	Subject Subject `json:"subject"`
	// Through is the rule that says so; nil for the group system:masters, which
	// may do everything through no rule.
	Through *Through `json:"through,omitempty"`
}

// MissingRole is a binding to a role that could not be read.
type MissingRole struct {
	Binding  ObjectRef `json:"binding"`
	Role     ObjectRef `json:"role"`
	Subjects []Subject `json:"subjects"`
	// Why is a sentence without its end.
	Why string `json:"why"`
	// Unknown: the subjects may hold what was asked. Where it is false the binding
	// gives nothing for as long as the role is missing.
	Unknown bool `json:"unknown"`
}

// String is a sentence for people.
func (m *MissingRole) String() string {
	names := make([]string, len(m.Subjects))
	for i, s := range m.Subjects {
		names[i] = s.String()
	}
	who := listed(names, 3)
	if m.Unknown {
		return m.Why + ", which " + m.Binding.String() + " refers to: what " + who + " may do through it is not known; add a file that holds it"
	}
	return m.Why + ", which " + m.Binding.String() + " refers to: it gives nothing to " + who + " until somebody makes that role"
}

// Answer is who may do what was asked.
type Answer struct {
	// Holders in the order of subject, binding and rule, the group system:masters
	// first. Each rule that gives the right is one of them.
	Holders []Holder
	// Missing are the bindings that might give it and whose role is not there.
	Missing []MissingRole
}

// WhoCan lists everybody who may do what is asked. It says of each subject what
// Allowed says of a user who is that subject: by the name of the user, as the
// service account, or in the group.
func (r *RBAC) WhoCan(q Question) Answer {
	answer := Answer{Holders: []Holder{{Subject: Subject{Kind: rbacv1.GroupKind, Name: superusers}}}, Missing: r.Missing(q.Namespace)}
	for _, g := range r.Grants(q.Namespace) {
		if len(g.Subjects) == 0 {
			continue
		}
		for i := range g.Rules {
			if !q.Covers(g.Rules[i].PolicyRule) {
				continue
			}
			through := g.Through(&g.Rules[i])
			for _, s := range g.Subjects {
				answer.Holders = append(answer.Holders, Holder{s, through})
			}
		}
	}
	// Stable, so that bindings and rules stay in their order.
	slices.SortStableFunc(answer.Holders[1:], func(a, b Holder) int { return a.Subject.Compare(b.Subject) })
	return answer
}

// Missing are the bindings that count for what is in a namespace, or in none, and
// whose role is not there.
func (r *RBAC) Missing(namespace string) []MissingRole {
	missing := slices.Clip(r.missing)
	if namespace == "" {
		return missing
	}
	return append(missing, missingOf(r.local[namespace])...)
}

func missingOf(grants []*Grant) []MissingRole {
	var missing []MissingRole
	for _, g := range grants {
		if m := g.MissingRole(); m != nil {
			missing = append(missing, *m)
		}
	}
	return missing
}

// MissingRole says what of the binding's role is not there; nil if all of it is,
// or nobody is bound.
func (g *Grant) MissingRole() *MissingRole {
	if g.Missing == "" || len(g.Subjects) == 0 {
		return nil
	}
	return &MissingRole{Binding: g.Binding, Role: g.Role, Subjects: g.Subjects, Why: g.Missing, Unknown: g.Unknown}
}

// Covers reports whether a rule gives what is asked.
func (q *Question) Covers(rule *rbacv1.PolicyRule) bool {
	attributes := q.Attributes
	if q.AnyName && len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	if !q.AnySubresource {
		return covers(rule, &attributes)
	}
	return slices.ContainsFunc(rule.Resources, func(resource string) bool {
		name, subresource, ok := strings.Cut(resource, "/")
		attributes.Subresource = subresource
		if resource == rbacv1.ResourceAll {
			attributes.Subresource = rbacv1.ResourceAll
		} else if !ok || subresource == "" || name != rbacv1.ResourceAll && name != attributes.Resource {
			return false
		}
		return covers(rule, &attributes)
	})
}
