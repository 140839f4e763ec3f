package deny

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// DecideExemptLabels judges whether the requester may set the labels that exempt
// a pod from a DenyPolicy. Without this, whoever may label a pod could open the
// side door to it. Setting them needs the verb exempt on that DenyPolicy, except for a
// controller that makes the object from a template that was judged for them. So
// does a mark that says that a template was.
func (s *Policies) DecideExemptLabels(c *call.Call, results []decision.Result) []decision.Result {
	r := c.Request
	for i := range s.ExemptLabels {
		e := &s.ExemptLabels[i]
		if r.User.Name == "" || !e.Policy.Scope.inCluster(r.ClusterName) {
			continue
		}
		at := e.NewlySet(r)
		if at == nil {
			at = e.newlyMarked(r)
		}
		if at != nil {
			results = append(results, s.decideExemption(c, e, at))
			stored.Settle(results[len(results)-1:])
		}
	}
	return results
}

// decideExemption judges the labels on the pod at.
func (s *Policies) decideExemption(c *call.Call, e *ExemptLabels, at *pod.Pod) decision.Result {
	r := c.Request
	result := decision.Result{
		Policy: e.Policy.Name, Rule: stored.RuleExemptLabels, Kind: stored.KindDenyPolicy,
		Resource: c.Resource(), Status: decision.Pass, Action: e.Policy.Action, Source: r.Source,
		Remedy: decision.RemedyRight, Marked: identity.Marked(call.MarkOf(r.Object), e.Signature(r)),
	}
	owner, why := s.exemptByOwner(c, e)
	if owner != "" {
		result.Message = fmt.Sprintf("%.100q makes it from the template of %s, which was judged for the labels that exempt it", r.User.Name, owner)
		return result
	}
	allowed, err := s.MayExempt(c, e)
	switch {
	case err != nil:
		result = e.Policy.failMode(result, fmt.Sprintf("whether %s may exempt pods cannot be found out: %v", r.User.Name, err))
	case allowed:
		result.Message = r.User.Name + " may exempt pods from this policy"
	default:
		result.Status = decision.Fail
		result.Message = fmt.Sprintf("the labels %s exempt pods from DenyPolicy %s, and %s may not set them; whoever sets them needs the verb exempt on denypolicies.%s %q",
			e, e.Policy.Name, r.User.Name, v1alpha1.GroupVersion.Group, e.Policy.Name)
		if why != "" {
			result.Message += "; a controller is asked for it, since " + why
		}
		result.Findings = e.findings(at)
	}
	return result
}

// MayExempt asks whether the requester has the right to exempt pods from the
// policy.
func (s *Policies) MayExempt(c *call.Call, e *ExemptLabels) (bool, error) {
	r := c.Request
	if r.Authorizer == nil {
		return false, call.ErrNoAuthorizer
	}
	return r.Authorizer.Allowed(c.Ctx, r.User, request.Attributes{
		Verb: VerbExempt, Group: v1alpha1.GroupVersion.Group, Resource: "denypolicies", Name: e.Policy.Name,
	})
}

// exemptByOwner reports whether a controller made the object from a template that
// carries the labels and was judged for them, and names the owner whose template
// that is. why says what is missing; it is empty where the requester is not
// a controller at all.
func (s *Policies) exemptByOwner(c *call.Call, e *ExemptLabels) (owner, why string) {
	m, why := s.MakerOf(c)
	if m == nil {
		return "", why
	}
	for _, t := range m.Templates() {
		switch {
		case !e.carriedIn(t.Object):
			return "", fmt.Sprintf("the template of %s does not carry them", t.Of)
		case e.Policy.Action == decision.Enforce && !identity.Marked(call.MarkOf(t.Object), e.Signature(c.Request)):
			return "", fmt.Sprintf("the template of %s is not marked as judged for them, in the annotation %s: either the mutating webhook is not installed, or the object is older than that or than the policy, see 'sallyport identities bootstrap'",
				t.Of, v1alpha1.AnnotationTemplateJudged) + call.NoMarks(c.Request)
		}
	}
	return m.Name, ""
}

// Exempting lists the labels of policies that pods in the object carry, and that
// count in the cluster of the request.
func (s *Policies) Exempting(r *request.Request, o *pod.Object) []*ExemptLabels {
	return slices.DeleteFunc(s.ExemptingIn(r.ClusterName), func(e *ExemptLabels) bool { return !e.carriedIn(o) })
}

// ExemptingIn lists the labels that count in a cluster: those of policies that refuse.
// Templates are marked for no others, so that what is let in while a policy is tried out
// does not count as judged once it refuses.
func (s *Policies) ExemptingIn(cluster string) []*ExemptLabels {
	var found []*ExemptLabels
	for i := range s.ExemptLabels {
		if e := &s.ExemptLabels[i]; e.Policy.Action == decision.Enforce && e.Policy.Scope.inCluster(cluster) {
			found = append(found, e)
		}
	}
	return found
}

// Signature is the part of a mark that is about the labels.
func (e *ExemptLabels) Signature(r *request.Request) string {
	return identity.ExemptionSignature(r.Controllers.Secret(), r.Namespace, e.Policy.Name, e.Labels)
}

// newlyMarked returns the first pod that the labels exempt, of a template that they
// exempted before, where a mark for them appears.
func (e *ExemptLabels) newlyMarked(r *request.Request) *pod.Pod {
	if call.IsPod(r.Object.GVK.GroupKind()) {
		return nil
	}
	stamp := e.Signature(r)
	if !identity.Marked(call.MarkOf(r.Object), stamp) || identity.Marked(call.MarkOf(r.OldObject), stamp) {
		return nil
	}
	for i := range r.Object.Pods {
		if p := &r.Object.Pods[i]; e.carriedBy(p.Meta.Labels) {
			return p
		}
	}
	return nil
}

// NewlySet returns the first pod of the object that the labels exempt and that
// they did not exempt before.
func (e *ExemptLabels) NewlySet(r *request.Request) *pod.Pod {
	// The API server copies the labels of a Binding onto the pod that it binds.
	if r.Object.GVK.Kind == "Binding" && r.Object.GVK.Group == "" && e.carriedBy(r.Object.Meta.Labels) {
		return &pod.Pod{Meta: r.Object.Meta, Spec: &corev1.PodSpec{}}
	}
	for i := range r.Object.Pods {
		p := &r.Object.Pods[i]
		if !e.carriedBy(p.Meta.Labels) {
			continue
		}
		before := false
		if r.OldObject != nil {
			for j := range r.OldObject.Pods {
				old := &r.OldObject.Pods[j]
				before = before || old.Path == p.Path && e.carriedBy(old.Meta.Labels)
			}
		}
		if !before {
			return p
		}
	}
	return nil
}

// carriedIn reports whether some pod of the object carries the labels.
func (e *ExemptLabels) carriedIn(o *pod.Object) bool {
	return slices.ContainsFunc(o.Pods, func(p pod.Pod) bool { return e.carriedBy(p.Meta.Labels) })
}

func (e *ExemptLabels) carriedBy(labels map[string]string) bool {
	for key, value := range e.Labels {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func (e *ExemptLabels) findings(p *pod.Pod) []decision.Finding {
	var findings []decision.Finding
	for _, key := range e.keys() {
		findings = append(findings, decision.Finding{
			Path: p.FieldPath("metadata.labels[" + key + "]"), Value: e.Labels[key],
			Detail: "exempts the pod from DenyPolicy " + e.Policy.Name,
		})
	}
	return findings
}

func (e *ExemptLabels) keys() []string {
	keys := make([]string, 0, len(e.Labels))
	for key := range e.Labels {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// String lists the labels as kubectl writes them: a=b,c=d.
func (e *ExemptLabels) String() string {
	var pairs []string
	for _, key := range e.keys() {
		pairs = append(pairs, key+"="+e.Labels[key])
	}
	return strings.Join(pairs, ",")
}
