package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/rbac"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var ofRights = []check{
	{"Rights", "rights.missing", (*looking).missing, false},
	{"Rights", "rights.superfluous", (*looking).superfluous, false},
}

// contextRole is that of what policies may read of the cluster, which the administrator
// says.
const contextRole = "sallyport-context"

// rightsOf are all that a rule gives, one by one, in a namespace.
func rightsOf(rule *rbacv1.PolicyRule, namespace string) []request.Attributes {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []request.Attributes
	for _, group := range rule.APIGroups {
		for _, entry := range rule.Resources {
			resource, subresource, _ := strings.Cut(entry, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, request.Attributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return all
}

// worded is a right for people.
func worded(a *request.Attributes) string {
	text := a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	return a.Verb + " " + text
}

// isAccount reports whether a subject is Sallyport's account, or a group that nobody but
// accounts of its namespace is in.
func (l *looking) isAccount(s cluster.Subject) bool {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return "system:serviceaccount:"+s.Namespace+":"+s.Name == l.Account
	case rbacv1.UserKind:
		return s.Name == l.Account
	}
	return s.Name == "system:serviceaccounts:"+l.Namespace
}

// granted are the bindings of the account that count in a namespace.
func (l *looking) granted(r *cluster.RBAC, namespace string) []*cluster.Grant {
	var all []*cluster.Grant
	for _, g := range r.Grants(namespace) {
		if slices.ContainsFunc(g.Subjects, l.isAccount) {
			all = append(all, g)
		}
	}
	return all
}

func gives(grants []*cluster.Grant, a *request.Attributes) bool {
	q := cluster.Question{Attributes: *a}
	return slices.ContainsFunc(grants, func(g *cluster.Grant) bool {
		return slices.ContainsFunc(g.Rules, func(r cluster.Rule) bool { return q.Covers(r.PolicyRule) })
	})
}

// missing finds rights that the account needs and does not have.
func (l *looking) missing(ctx context.Context, s *says) {
	needs, err := rbac.OfAccount()
	if err != nil {
		s.unknown("what the account needs is not known", err)
		return
	}
	// Without the right to read roles, the API server is asked about each.
	roles, _ := l.rbac(ctx)
	namespace := l.Namespace
	if leases, err := l.allLeases(ctx); err == nil && len(leases) > 0 {
		namespace = leases[0].Namespace
	}
	var lacks []string
	for _, of := range []struct {
		rules     []rbacv1.PolicyRule
		namespace string
	}{{needs.Everywhere, ""}, {needs.Own, namespace}} {
		var grants []*cluster.Grant
		if roles != nil {
			grants = l.granted(roles, of.namespace)
		}
		for i := range of.rules {
			for _, a := range rightsOf(&of.rules[i], of.namespace) {
				if gives(grants, &a) {
					continue
				}
				// Another authorizer may give it.
				allowed, err := l.may(ctx, &a)
				if err != nil {
					s.unknown("whether the account has the rights that it needs is not known", err)
					return
				}
				if !allowed {
					lacks = append(lacks, worded(&a))
				}
			}
		}
	}
	if len(lacks) > 0 {
		s.problem("user "+l.Account, "", "kubectl apply -f config/rbac, or rbac.create of the chart. What it may not read it cannot judge.", "it lacks: %s", some(lacks, 8))
	}
	s.ok("%s has all that is needed", l.Account)
}

// may asks the API server whether the account has a right.
func (l *looking) may(ctx context.Context, a *request.Attributes) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: l.Account, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.Group, Version: "*", Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
	}}
	if namespace, _, is := strings.Cut(strings.TrimPrefix(l.Account, "system:serviceaccount:"), ":"); is {
		spec.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	got, err := l.API.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("the API server cannot be asked whether %s may %s: %w", l.Account, worded(a), err)
	}
	return got.Status.Allowed, nil
}

// superfluous finds rights of the account that nothing of what is shipped has.
func (l *looking) superfluous(ctx context.Context, s *says) {
	needs, err := rbac.OfAccount()
	if err != nil {
		s.unknown("what the account needs is not known", err)
		return
	}
	roles, err := l.rbac(ctx)
	if err != nil {
		s.unknown("which rights the account has is not known", err)
		return
	}
	everywhere := slices.Concat(needs.Everywhere, needs.FeaturesEverywhere)
	inOwn := slices.Concat(everywhere, needs.Own, needs.FeaturesOwn)
	for _, g := range l.granted(roles, l.Namespace) {
		if g.Role.Name == contextRole {
			continue
		}
		shipped := everywhere
		if g.Binding.Namespace != "" {
			shipped = inOwn
		}
		for i := range g.Rules {
			for _, a := range rightsOf(g.Rules[i].PolicyRule, "") {
				q := cluster.Question{Attributes: a}
				if !slices.ContainsFunc(shipped, func(r rbacv1.PolicyRule) bool { return q.Covers(&r) }) {
					s.warn(g.Binding.String(), "", "Take it away if no policy of yours needs it: whoever takes over Sallyport has it too. What policies read belongs into the role sallyport-context.", "the account may do more than is shipped: %s", g.Through(&g.Rules[i]).String())
					break
				}
			}
		}
	}
	s.ok("%s has no right beyond what is shipped", l.Account)
}
