package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/glob"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/policy"
	"github.com/sallyport-io/sallyport/internal/request"
)

// VerbApprove is the right to answer requests for exceptions to a policy.
const VerbApprove = "approve"

var errNoAuthorizer = errors.New("there is no cluster to ask what somebody may do")

// resources are the resources of the kinds of policies.
var resources = map[string]string{
	policy.KindClusterPolicy: "clusterpolicies", policy.KindDenyPolicy: "denypolicies", policy.KindPolicy: "policies",
	"ClusterAdmissionPolicy": "clusteradmissionpolicies", "AdmissionPolicy": "admissionpolicies", "IdentitySource": "identitysources",
}

// mayApprove asks whether the user holds approve on every policy that a request
// names.
func (g *Guard) mayApprove(ctx context.Context, r *request.Request, asked *v1alpha1.PolicyExceptionRequest) error {
	if r.Authorizer == nil {
		return fmt.Errorf("whether %s may approve cannot be found out: %w", r.User.Name, errNoAuthorizer)
	}
	for i, entry := range pass.ExceptedBy(asked) {
		for _, right := range g.rights(&entry, asked.Namespace) {
			allowed, err := r.Authorizer.Allowed(ctx, r.User, right)
			if err != nil {
				return fmt.Errorf("whether %s may approve exceptions to %s cannot be found out: %w", r.User.Name, entry.PolicyName, err)
			}
			if !allowed {
				return refuse("spec.name", asked.Name, "%s may not answer it: exceptions[%d] names %q, and that needs the verb %s on %s.%s%s", r.User.Name, i, entry.PolicyName, VerbApprove, right.Resource, right.Group, named(right))
			}
		}
	}
	return nil
}

func named(right request.Attributes) string {
	switch {
	case right.Name == "":
		return ", whatever its name"
	case right.Namespace != "":
		return fmt.Sprintf(" %q in namespace %s", right.Name, right.Namespace)
	}
	return fmt.Sprintf(" %q", right.Name)
}

// rights are what answering an entry needs: approve on each policy that it can
// mean. What may come to mean more later needs it on all of the kind.
func (g *Guard) rights(entry *v1alpha1.ExceptedRules, ownNamespace string) []request.Attributes {
	namespace, name, qualified := strings.Cut(entry.PolicyName, "/")
	if !qualified {
		namespace, name = "", entry.PolicyName
	}
	attributes := func(kind, namespace, name string) request.Attributes {
		if glob.IsPattern(name) || glob.IsPattern(namespace) {
			namespace, name = "", ""
		}
		return request.Attributes{Verb: VerbApprove, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: resources[kind], Namespace: namespace, Name: name}
	}
	switch {
	case qualified:
		return []request.Attributes{attributes(policy.KindPolicy, namespace, name)}
	case entry.PolicyKind == policy.KindPolicy || entry.PolicyKind == "AdmissionPolicy":
		return []request.Attributes{attributes(entry.PolicyKind, ownNamespace, name)}
	case entry.PolicyKind != "":
		return []request.Attributes{attributes(entry.PolicyKind, "", name)}
	}
	var rights []request.Attributes
	if !glob.IsPattern(name) {
		for _, p := range g.Set().Named("", "", ownNamespace, name) {
			rights = append(rights, attributes(p.Kind, p.Namespace, p.Name))
		}
	}
	if len(rights) == 0 {
		for _, kind := range []string{policy.KindClusterPolicy, policy.KindDenyPolicy} {
			rights = append(rights, attributes(kind, "", name))
		}
		rights = append(rights, attributes(policy.KindPolicy, ownNamespace, name))
	}
	return rights
}

// pinned says which policies an entry means that names no kind, so that what was
// approved for one does not come to hold for another that is made later under the
// same name. An entry that means none yet needed the right to approve for all.
func (g *Guard) pinned(x v1alpha1.RequestedException, ownNamespace string) []v1alpha1.RequestedException {
	if x.PolicyKind != "" || strings.Contains(x.PolicyName, "/") || glob.IsPattern(x.PolicyName) {
		return []v1alpha1.RequestedException{x}
	}
	means := g.Set().Named("", "", ownNamespace, x.PolicyName)
	if len(means) == 0 {
		return []v1alpha1.RequestedException{x}
	}
	var pinned []v1alpha1.RequestedException
	for _, p := range means {
		one := x
		one.PolicyKind = p.Kind
		pinned = append(pinned, one)
	}
	return pinned
}
