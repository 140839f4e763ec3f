package policyserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// conditionAccount is the condition of a PolicyServer that says whether its account
// may do what every server needs. What its policies read is not looked at.
const conditionAccount = "AccountReady"

// ServerRole is the ClusterRole that has those rights.
const ServerRole = "sallyport-policy-server"

// rightsEvery is how often the rights of an account are asked for.
const rightsEvery = time.Minute

// Right is something that the account of a server has to be allowed to do.
type Right struct{ Group, Resource, Subresource, Verb string }

// Rights are those that every server needs: to know the labels of namespaces, to
// excuse what is excepted, and to report what its policies were denied.
func Rights() []Right {
	rights := []Right{{"", "namespaces", "", "get"}, {"", "namespaces", "", "list"}, {"", "namespaces", "", "watch"}}
	for _, kind := range exception.Kinds {
		for _, verb := range []string{"list", "watch"} {
			rights = append(rights, Right{v1alpha1.GroupVersion.Group, v1alpha1.Plural(kind), "", verb})
		}
	}
	// Whether exceptions are gone because their kind is.
	rights = append(rights, Right{"apiextensions.k8s.io", "customresourcedefinitions", "", "get"})
	for _, kind := range []string{stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy} {
		rights = append(rights, Right{v1alpha1.GroupVersion.Group, v1alpha1.Plural(kind), "", "get"}, Right{v1alpha1.GroupVersion.Group, v1alpha1.Plural(kind), "status", "patch"})
	}
	return append(rights, Right{"", "events", "", "create"}, Right{"", "events", "", "patch"})
}

// rights says whether the account of a server is there and may do what it needs.
func (c *Controller) rights(ctx context.Context, s *v1alpha1.PolicyServer) metav1.Condition {
	m, now := c.remember(s), c.Clock.Now()
	if key := account(s); m.checked.IsZero() || now.Sub(m.checked) >= rightsEvery || m.account != key {
		lacks, err := c.lacks(ctx, s)
		if err != nil {
			return metav1.Condition{
				Type: conditionAccount, Status: metav1.ConditionUnknown, Reason: "CannotTell", Message: err.Error(),
			}
		}
		m.lacks, m.checked, m.account = lacks, now, key
	}
	if len(m.lacks) > 0 {
		return condition(conditionAccount, false, "RightsMissing", fmt.Sprintf(
			"the account %s/%s lacks what a server needs: %s; bind the ClusterRole %s to it", c.Namespace, account(s), strings.Join(m.lacks, ", "), ServerRole))
	}
	return condition(conditionAccount, true, "RightsGranted", fmt.Sprintf("the account %s/%s may do what a server needs, besides what its policies read", c.Namespace, account(s)))
}

func (c *Controller) lacks(ctx context.Context, s *v1alpha1.PolicyServer) ([]string, error) {
	there, err := c.get(ctx, &corev1.ServiceAccount{}, c.Namespace, account(s))
	if err != nil {
		return nil, err
	}
	if !there {
		return []string{"the account itself, which is not there"}, nil
	}
	verbs := map[string][]string{}
	for _, r := range Rights() {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + c.Namespace + ":" + account(s),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + c.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: r.Verb, Group: r.Group, Version: "*", Resource: r.Resource, Subresource: r.Subresource,
			},
		}}
		if err := c.client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("what the account may do cannot be asked: %w", err)
		}
		if !review.Status.Allowed {
			name := r.Resource
			if r.Subresource != "" {
				name += "/" + r.Subresource
			}
			verbs[name] = append(verbs[name], r.Verb)
		}
	}
	var lacks []string
	for resource, missing := range verbs {
		lacks = append(lacks, strings.Join(missing, " and ")+" "+resource)
	}
	slices.Sort(lacks)
	return lacks, nil
}
