package call

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Sessions are those that the user has in the request's cluster, found once.
func (c *Call) Sessions() []breakglass.Grant {
	if !c.sessionsRead {
		c.sessionsRead = true
		r := c.Request
		// Nobody who is above all authorization needs one, or is bound by one.
		if !slices.Contains(r.User.Groups, mastersGroup) {
			c.Active = c.Breakglass.Active(PersonOf(&r.User), r.ClusterName, r.Time)
		}
	}
	return c.Active
}

const mastersGroup = "system:masters"

// PersonOf is a user as sessions know their holder.
func PersonOf(u *request.User) breakglass.Person {
	return breakglass.Person{Name: u.Name, UID: u.UID, Groups: u.Groups}
}

// described is a session as results name it.
func DescribedSession(g *breakglass.Grant) decision.Session {
	o := g.Object()
	s := decision.Session{
		Name: g.Name, Escalation: g.Escalation.Name, User: g.User, Cluster: g.Cluster, Reason: o.Spec.RequestReason,
		ExpiresAt: g.ExpiresAt(g.Escalation).UTC().Format(time.RFC3339),
	}
	var approvers []string
	for _, a := range o.Status.Approvals {
		approvers = append(approvers, a.By)
	}
	s.Approver = strings.Join(approvers, ", ")
	return s
}

// outlasts reports whether what is asked for would last longer than a session, or
// lead out of it: to act as somebody else, to give rights away, to get a token or a
// certificate, or to write what Sallyport itself goes by. Who may do that by his own
// rights still may.
func outlasts(r *request.Request) bool {
	resource := r.Resource.Resource
	switch r.Resource.Group {
	case v1alpha1.GroupVersion.Group:
		return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	case "certificates.k8s.io", "apiextensions.k8s.io":
		// With the definition of a kind go all its objects, which may be policies.
		return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
	case "":
		if resource == "serviceaccounts" && r.Subresource == "token" {
			return true
		}
		// Who makes a Secret can have it filled with a token of any service account,
		// or log nodes in by it. What type it is to have is not known here.
		if resource == "secrets" && r.Verb == "create" {
			return true
		}
	}
	switch r.Verb {
	case "bind", "escalate", "approve", "sign", "attest", "*":
		return true
	}
	return resource == "*" || r.Resource.Group == "*" || impersonation.Is(r.Verb)
}

// NotGranted says why sessions of the user's name do not count for him, for when no one
// else lets him do it either.
func (c *Call) NotGranted() string {
	r := c.Request
	if r.Door != request.Access || slices.Contains(r.User.Groups, mastersGroup) {
		return ""
	}
	return strings.Join(c.Breakglass.Unusable(PersonOf(&r.User), r.ClusterName, r.Time), "; ")
}

// GivenBy finds a session whose group may do by one of the verbs what the user asks.
// Roles and bindings are read from what is watched, so that no question comes back
// here. nil: no session does.
func (c *Call) GivenBy(verbs ...string) *breakglass.Grant { return c.givenBy(c.Sessions(), verbs) }

func (c *Call) givenBy(grants []breakglass.Grant, verbs []string) *breakglass.Grant {
	if len(grants) == 0 {
		return nil
	}
	r := *c.Request
	reader, ok := r.Cluster.(request.RBACReader)
	if !ok {
		return nil
	}
	for i := range grants {
		g := &grants[i]
		group := g.Group(g.Escalation)
		if group == "" {
			continue
		}
		for _, r.Verb = range verbs {
			if outlasts(&r) {
				continue
			}
			allowed, err := reader.AllowedByRBAC(c.Ctx, request.User{Groups: []string{group}}, request.Attributes{
				Verb: r.Verb, Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource, Subresource: r.Subresource,
				Namespace: r.Namespace, Name: r.Name,
			})
			if err == nil && allowed {
				return g
			}
		}
	}
	return nil
}
