package exception

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Meant is a policy that an exception means, by the name that an ExceptionPolicy
// knows it by, or all of a kind that a pattern matches.
type Meant struct {
	Kind Excusable
	Name string
}

// automatic reports whether the policy approves by itself what is meant.
func (p *exceptionPolicy) automatic(namespace string, meant []Meant) bool {
	return p.spec.ApprovalPolicy == "Automatic" && len(meant) > 0 && p.inNamespace(namespace) &&
		!slices.ContainsFunc(meant, func(m Meant) bool { return !p.gives(m.Kind) || !p.covers(m.Name) })
}

// MayBeAutomatic reports whether some ExceptionPolicy approves requests of a
// namespace by itself for what they mean, if its condition holds.
func (r *Rules) MayBeAutomatic(namespace string, meant []Meant) bool {
	return slices.ContainsFunc(r.policies, func(p *exceptionPolicy) bool { return p.automatic(namespace, meant) })
}

// Automatic finds the ExceptionPolicy that approves a request by itself: one
// whose approvalPolicy is Automatic, which names every policy that the request
// means, and whose condition holds. namespace is that of the request; nil where it
// is not known. The error says that some condition could not be evaluated and that
// no other policy approves; then nothing is approved.
func (r *Rules) Automatic(ctx context.Context, q *v1alpha1.PolicyExceptionRequest, meant []Meant, namespace *corev1.Namespace) (policy string, ok bool, err error) {
	for _, p := range r.policies {
		if !p.automatic(q.Namespace, meant) {
			continue
		}
		holds, problem := p.conditionHolds(ctx, q, namespace)
		if holds {
			return p.name, true, nil
		}
		if problem != nil && err == nil {
			err = fmt.Errorf("the approvalCondition of ExceptionPolicy %s: %w", p.name, problem)
		}
	}
	return "", false, err
}

// conditionHolds reports whether the condition holds; one that is not given does.
func (p *exceptionPolicy) conditionHolds(ctx context.Context, q *v1alpha1.PolicyExceptionRequest, namespace *corev1.Namespace) (bool, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return false, err
	}
	tree, err := apijson.Tree(raw)
	if err != nil {
		return false, err
	}
	holds, _, err := p.condition.Hold(ctx, &expression.Input{Object: tree, Namespace: namespace})
	return holds, err
}

// ApprovesSome reports whether some ExceptionPolicy approves anything by itself.
func (r *Rules) ApprovesSome() bool {
	for _, p := range r.policies {
		if p.spec.ApprovalPolicy == "Automatic" {
			return true
		}
	}
	return false
}
