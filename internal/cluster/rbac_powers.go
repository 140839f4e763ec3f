package cluster

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/review/impersonation"
)

// power is something that makes an account powerful, if RBAC allows it.
type power struct {
	group, resource, subresource string
	// anySubresource: the right is about every subresource, each on its own.
	anySubresource bool
	// verbs, any of which is enough.
	verbs []string
	// says what the account may do; %s stands for the verbs that it has.
	says string
	// clusterWide: the resource has no namespace, so that a RoleBinding does not
	// reach it.
	clusterWide bool
}

const certificatesGroup = "certificates.k8s.io"

// powers are all of them, in the order in which they are listed.
//
// Patching a secret with nothing answers with the secret, and so does deleting
// a collection of them; both read. A WebSocket is a get, so get execs.
// Impersonation is asked for by its own verb and, in newer clusters, by one for
// each kind of user. Creating pods is not a power of its own here: pods that are
// created come through the front door and are judged there.
var powers = slices.Concat(powersToEnter, powersToBeAnother(), powersToGrow)

var powersToEnter = []power{
	{resource: "secrets", verbs: []string{"get", "list", "watch", "patch", "deletecollection"}, says: "may %s secrets"},
	{resource: "pods", subresource: "exec", verbs: []string{"create", "get"}, says: "may exec into pods"},
	{resource: "pods", subresource: "attach", verbs: []string{"create", "get"}, says: "may attach to pods"},
	{resource: "pods", subresource: "ephemeralcontainers", verbs: []string{"patch", "update"}, says: "may add ephemeral containers to pods"},
	{resource: "serviceaccounts", subresource: "token", verbs: []string{"create"}, says: "may create tokens of service accounts"},
}

// powersToBeAnother are those to impersonate.
func powersToBeAnother() []power {
	var found []power
	for _, r := range impersonation.Rights() {
		found = append(found, power{
			group: r.Group, resource: r.Resource, anySubresource: r.AnySubresource, verbs: r.Verbs, clusterWide: r.ClusterWide,
			says: "may impersonate " + r.Of,
		})
	}
	return found
}

var powersToGrow = []power{
	{group: rbacv1.GroupName, resource: "roles", verbs: []string{"escalate", "bind"}, says: "may %s roles"},
	// Whether a ClusterRole may be bound is asked in the namespace of the binding.
	{group: rbacv1.GroupName, resource: "clusterroles", verbs: []string{"bind"}, says: "may bind cluster roles"},
	{group: rbacv1.GroupName, resource: "clusterroles", verbs: []string{"escalate"}, says: "may escalate cluster roles", clusterWide: true},
	{resource: "nodes", subresource: "proxy", verbs: []string{"get", "create", "update", "patch", "delete"}, says: "may reach the kubelets of nodes by proxy", clusterWide: true},
	{resource: "nodes", verbs: []string{"create", "patch", "update"}, says: "may %s nodes", clusterWide: true},
	{resource: "nodes", subresource: "status", verbs: []string{"patch", "update"}, says: "may %s the status of nodes", clusterWide: true},
	{group: certificatesGroup, resource: "signers", verbs: []string{"approve", "sign"}, says: "may %s certificates for signers", clusterWide: true},
	{group: certificatesGroup, resource: "certificatesigningrequests", subresource: "approval", verbs: []string{"patch", "update"}, says: "may approve certificate signing requests", clusterWide: true},
}

// powersOf lists what rules give in a namespace, or everywhere if namespace is
// empty, one sentence each, in the order of the table.
func powersOf(rules []rbacv1.PolicyRule, namespace string) []string {
	where := " in every namespace"
	if namespace != "" {
		where = " in namespace " + namespace
	}
	if slices.ContainsFunc(rules, allowsEverything) {
		return []string{"may do everything" + where}
	}
	var found []string
	say := func(sentence string) {
		if !slices.Contains(found, sentence) {
			found = append(found, sentence)
		}
	}
	for i := range powers {
		p := &powers[i]
		if p.clusterWide && namespace != "" {
			continue
		}
		place := where
		if p.clusterWide {
			place = ""
		}
		var verbs []string
		for j := range rules {
			if !namesOnly(&rules[j]) {
				verbs = append(verbs, p.allowed(&rules[j])...)
			}
		}
		if len(verbs) > 0 {
			say(p.sentence(verbs) + place)
		}
		for j := range rules {
			if !namesOnly(&rules[j]) {
				continue
			}
			named := slices.DeleteFunc(p.allowed(&rules[j]), func(verb string) bool {
				return slices.Contains(verbs, verb) || p.unnamed(verb)
			})
			if len(named) > 0 {
				say(p.sentence(named) + " named " + listed(rules[j].ResourceNames, 3) + place)
			}
		}
	}
	return found
}

// allowed gives the verbs of the power that a rule allows, in their order.
func (p *power) allowed(rule *rbacv1.PolicyRule) []string {
	if !holds(rule.APIGroups, rbacv1.APIGroupAll, p.group) || !slices.ContainsFunc(rule.Resources, p.isResource) {
		return nil
	}
	var verbs []string
	for _, verb := range p.verbs {
		if holds(rule.Verbs, rbacv1.VerbAll, verb) {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// isResource reports whether a resource of a rule is that of the power. RBAC
// knows "*", "resource/subresource" and "*/subresource"; "resource/*" is none.
func (p *power) isResource(resource string) bool {
	switch {
	case resource == rbacv1.ResourceAll:
		return true
	case p.anySubresource:
		name, subresource, ok := strings.Cut(resource, "/")
		return ok && subresource != "" && (name == "*" || name == p.resource)
	case p.subresource == "":
		return resource == p.resource
	default:
		name, subresource, ok := strings.Cut(resource, "/")
		return ok && subresource == p.subresource && (name == "*" || name == p.resource)
	}
}

// unnamed reports whether requests with the verb name no object, so that a rule
// for named objects cannot allow them.
func (p *power) unnamed(verb string) bool {
	return verb == "deletecollection" || verb == "create" && p.subresource == ""
}

// sentence says that the account may do what verbs are.
func (p *power) sentence(verbs []string) string {
	if !strings.Contains(p.says, "%s") {
		return p.says
	}
	// In the order of the table, each once.
	ordered := slices.DeleteFunc(slices.Clone(p.verbs), func(verb string) bool { return !slices.Contains(verbs, verb) })
	return fmt.Sprintf(p.says, listed(ordered, len(ordered)))
}

// namesOnly reports whether a rule holds only for named objects. An empty name
// among them is that of a request which names none, and so opens the rule.
func namesOnly(rule *rbacv1.PolicyRule) bool {
	return len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, "")
}

func allowsEverything(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Verbs, rbacv1.VerbAll) && slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) &&
		slices.Contains(rule.Resources, rbacv1.ResourceAll) && !namesOnly(&rule)
}

func holds(list []string, all, one string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return s == all || s == one })
}

// listed joins names with commas and an "and", and cuts after most of them.
func listed(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
