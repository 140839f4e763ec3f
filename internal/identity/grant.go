package identity

import (
	"fmt"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Attributes are what is reviewed for the claim, in the form of its source. There
// is no namespace: an identity is of the whole cluster, and the rights that
// somebody has inside a namespace do not reach it.
func (c *Claim) Attributes() request.Attributes {
	a := request.Attributes{Verb: Verb, Group: Group}
	if c.Form == v1alpha1.ReviewResource {
		a.Resource, a.Name = c.Key, c.Value
	} else {
		a.Resource, a.Subresource, a.Name = Resource, c.Value, c.Key
	}
	return a
}

// Rule is the RBAC rule that grants the claim and no other. It belongs in a
// ClusterRole that a ClusterRoleBinding grants. RBAC grants every combination of
// the resources and the names in one rule, so each claim has a rule of its own.
func (c *Claim) Rule() rbacv1.PolicyRule {
	a := c.Attributes()
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{resource}, ResourceNames: []string{a.Name}, Verbs: []string{a.Verb}}
}

// RuleFor writes that rule as one line of YAML. It is empty for a claim with a
// fault, which nothing grants.
func RuleFor(c Claim) string {
	if c.Fault != "" {
		return ""
	}
	rule := c.Rule()
	return fmt.Sprintf("{apiGroups: [%s], resources: [%s], resourceNames: [%s], verbs: [%s]}",
		rule.APIGroups[0], strconv.Quote(rule.Resources[0]), strconv.Quote(rule.ResourceNames[0]), rule.Verbs[0])
}

// Denial says in one sentence why user may not have the claim, and which
// permission is missing.
func (c *Claim) Denial(user string) string {
	if c.Fault != "" {
		return fmt.Sprintf("the identity %.100q at %s can be granted to nobody: %s", c.Key, c.Path, c.Fault)
	}
	rule := c.Rule()
	return fmt.Sprintf("%.100q may not act as %s (%s): the permission to %s %q named %q in %s, in the whole cluster, is missing",
		user, c, c.Path, rule.Verbs[0], rule.Resources[0], rule.ResourceNames[0], rule.APIGroups[0])
}
