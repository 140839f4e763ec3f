// Package holders tells auditors who stands behind the pods of a cluster: who
// holds a claim, who can reach the runtime of a pod, and who can reach it
// without holding what the pod carries. It goes only by RBAC; what another
// authorizer of the API server allows is not seen.
package holders

import (
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// What a holder of a claim may do, in the terms of RBAC.
const (
	useVerb    = "use"
	claimGroup = "authorization.k8s.io"
	// claimResource stands for every key in the form Name.
	claimResource = "validatedannotations"
)

// Form says how a claim is written in RBAC.
type Form string

const (
	// Name is the form of document "Validated Pod Annotations": the key is the
	// name of an object of the resource validatedannotations, and the value its
	// subresource. The empty Form is this one.
	Name Form = "name"
	// Resource has the key as the resource and the value as the name.
	Resource Form = "resource"
)

// Claim is an identity that a pod carries.
type Claim struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Form  Form   `json:"form,omitempty"`
}

// String is key=value, and just the key for any value.
func (c Claim) String() string {
	if c.Value == "" {
		return c.Key
	}
	return c.Key + "=" + c.Value
}

// Validate says why no pod can carry the claim. A claim without a value stands
// for any.
func (c Claim) Validate() error {
	if c.Form != "" && c.Form != Name && c.Form != Resource {
		return fmt.Errorf("there is no form %q of a claim; there are %s and %s", c.Form, Name, Resource)
	}
	if c.Key == "" {
		return errors.New("a claim needs a key, such as kerberos")
	}
	form := v1alpha1.ReviewValidatedAnnotation
	if c.Form == Resource {
		form = v1alpha1.ReviewResource
	}
	if fault := identity.KeyFault(c.Key, form); fault != "" {
		return fmt.Errorf("the key %.100q %s", c.Key, fault)
	}
	if c.Value == "" {
		return nil
	}
	if fault := identity.ValueFault(c.Value, form); fault != "" {
		return fmt.Errorf("nobody can be granted %.100q: %s", c.String(), fault)
	}
	return nil
}

// Question asks RBAC who may use the claim; without a value, who may use any
// value of its key.
func (c Claim) Question() cluster.Question {
	if c.Form == Resource {
		return cluster.Question{
			Attributes: request.Attributes{Verb: useVerb, Group: claimGroup, Resource: c.Key, Name: c.Value},
			AnyName:    c.Value == "",
		}
	}
	return cluster.Question{
		Attributes:     request.Attributes{Verb: useVerb, Group: claimGroup, Resource: claimResource, Subresource: c.Value, Name: c.Key},
		AnySubresource: c.Value == "",
	}
}

// Misread lists the rules that look as if they gave every value of the claim's
// key and do not: RBAC takes validatedannotations/* for the one value "*". Each
// is a sentence.
func (c Claim) Misread(rbac *cluster.RBAC) []string {
	if c.Form == Resource {
		return nil
	}
	literal := cluster.Question{Attributes: request.Attributes{Verb: useVerb, Group: claimGroup, Resource: claimResource, Subresource: "*", Name: c.Key}}
	another := literal
	another.Subresource = "any other value"
	var found []string
	for _, g := range rbac.Grants("") {
		for i := range g.Rules {
			if rule := &g.Rules[i]; literal.Covers(rule.PolicyRule) && !another.Covers(rule.PolicyRule) {
				found = append(found, g.Through(rule).String()+" names "+claimResource+`/*, which RBAC takes only for the value "*" and not for every value; a rule that gives every value of a key has resources: ["*"] with the key in resourceNames, or the form "resource"`)
			}
		}
	}
	return found
}
