package call

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
)

// SessionUse is that a session lets the user do something, or into a pod.
type SessionUse struct {
	By  *breakglass.Grant
	use breakglass.Use
}

// Used notes that a session lets the user into a pod, or do something if none is named.
func (c *Call) Used(g *breakglass.Grant, namespace, name string, uid types.UID) {
	c.Uses = append(c.Uses, SessionUse{g, breakglass.Use{Namespace: namespace, Pod: name, UID: string(uid), At: c.Request.Time}})
}

// CountUses counts what was noted, once nothing refuses the request: a pod that no one
// got into was not entered, and is neither evicted nor marked for it. Nothing counts that
// may be made up.
//
// At the access door a question looks like a request, and whoever may ask can
// ask for others. So nothing that is heard there is an entry, and it keeps a session from
// being idle only where its escalation says so.
func (c *Call) CountUses() {
	switch r := c.Request; {
	case r.DryRun, r.Unauthenticated:
	case r.Door == request.Access:
		for _, u := range c.Uses {
			if u.By.QuestionsCount(u.By.Escalation) {
				u.By.Used(breakglass.Use{At: u.use.At})
			}
		}
	case r.Final:
		// What is about to be changed still is judged once more, and may be refused then.
		if len(c.Uses) == 0 {
			c.useGroup()
		}
		for _, u := range c.Uses {
			if c.Access != nil && !c.enters() {
				u.use = breakglass.Use{At: u.use.At}
			}
			u.By.Used(u.use)
		}
	}
}

// useGroup notes a request that came through the front door and that a session's group
// may make: the side door has let it in by that session, ahead of any right that the
// user has himself. One that observes gives no rights, so that nobody enters a pod by a
// session's group; the session is not idle all the same, or it would end earlier than it
// does where it gives rights, and what it excuses would count as what is to be refused.
func (c *Call) useGroup() {
	g := c.GivenBy(c.frontVerbs()...)
	if g == nil {
		return
	}
	if c.Access == nil || c.Access.Pod == "" || c.Request.Observing {
		c.Used(g, "", "", "")
		return
	}
	var uid types.UID
	// One that cannot be read any more has been entered all the same.
	if pods, err := c.EnteredPods(); err == nil && len(pods) == 1 {
		uid = pods[0].Meta.UID
	}
	c.Used(g, c.Access.Namespace, c.Access.Pod, uid)
}

// frontVerbs are those by which the side door was asked about what comes to the front door.
func (c *Call) frontVerbs() []string {
	verbs := builtin.VerbsOf(c.Request.Operation)
	if c.Access != nil && c.Access.Resource == "pods" && c.Access.Subresource != "proxy" && c.Request.Operation == request.Connect {
		verbs = []string{"create", "get"}
	}
	return slices.DeleteFunc(verbs, func(verb string) bool { return verb == builtin.VerbConnect })
}

// enters reports whether a request that the front door lets in leads into a pod: each
// does that leads to a stream, and of ephemeral containers one that adds some.
func (c *Call) enters() bool {
	if c.Access.Subresource != "ephemeralcontainers" {
		return true
	}
	return len(ephemeral(c.Request.Object)) > len(ephemeral(c.Request.OldObject))
}

// ephemeral names the ephemeral containers of a pod, which none is ever taken out of.
func ephemeral(object *pod.Object) []string {
	if object == nil || len(object.Pods) != 1 {
		return nil
	}
	var names []string
	for c := range object.Pods[0].Containers() {
		if c.Kind == pod.Ephemeral {
			names = append(names, c.Name)
		}
	}
	return names
}
