package policy

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// decideExemptLabels judges whether the requester may set the labels that exempt
// a pod from a DenyPolicy. Without this, whoever may label a pod could open the
// side door to it. Setting them needs the verb exempt on that DenyPolicy, except for a
// controller that makes the object from a template that was judged for them. So
// does a mark that says that a template was.
func (s *denyPolicies) decideExemptLabels(c *call, results []decision.Result) []decision.Result {
	r := c.request
	for i := range s.exemptLabels {
		e := &s.exemptLabels[i]
		if r.User.Name == "" || !e.policy.scope.inCluster(r.ClusterName) {
			continue
		}
		at := e.newlySet(r)
		if at == nil {
			at = e.newlyMarked(r)
		}
		if at != nil {
			results = append(results, s.decideExemption(c, e, at))
		}
	}
	return results
}

// decideExemption judges the labels on the pod at.
func (s *denyPolicies) decideExemption(c *call, e *exemptLabels, at *pod.Pod) decision.Result {
	r := c.request
	result := decision.Result{
		Policy: e.policy.name, Rule: RuleExemptLabels, Kind: KindDenyPolicy,
		Resource: c.resource(), Status: decision.Pass, Action: decision.Enforce, Source: r.Source,
		Remedy: decision.RemedyRight,
	}
	owner, why := s.exemptByOwner(c, e)
	if owner != "" {
		result.Message = fmt.Sprintf("%.100q makes it from the template of %s, which was judged for the labels that exempt it", r.User.Name, owner)
		return result
	}
	allowed, err := s.mayExempt(c, e)
	switch {
	case err != nil:
		result = e.policy.failMode(result, fmt.Sprintf("whether %s may exempt pods cannot be found out: %v", r.User.Name, err))
	case allowed:
		result.Message = r.User.Name + " may exempt pods from this policy"
	default:
		result.Status = decision.Fail
		result.Message = fmt.Sprintf("the labels %s exempt pods from DenyPolicy %s, and %s may not set them; whoever sets them needs the verb exempt on denypolicies.%s %q",
			e, e.policy.name, r.User.Name, v1alpha1.GroupVersion.Group, e.policy.name)
		if why != "" {
			result.Message += "; a controller is asked for it, since " + why
		}
		result.Findings = e.findings(at)
	}
	return result
}

// mayExempt asks whether the requester has the right to exempt pods from the
// policy.
func (s *denyPolicies) mayExempt(c *call, e *exemptLabels) (bool, error) {
	r := c.request
	if r.Authorizer == nil {
		return false, errNoAuthorizer
	}
	return r.Authorizer.Allowed(c.ctx, r.User, request.Attributes{
		Verb: VerbExempt, Group: v1alpha1.GroupVersion.Group, Resource: "denypolicies", Name: e.policy.name,
	})
}

// exemptByOwner reports whether a controller made the object from a template that
// carries the labels and was judged for them, and names the owner whose template
// that is. why says what is missing; it is empty where the requester is not
// a controller at all.
func (s *denyPolicies) exemptByOwner(c *call, e *exemptLabels) (owner, why string) {
	m, why := s.makerOf(c)
	if m == nil {
		return "", why
	}
	for _, t := range m.templates() {
		switch {
		case !e.carriedIn(t.object):
			return "", fmt.Sprintf("the template of %s does not carry them", t.of)
		case !identity.Marked(markOf(t.object), e.stamp(c.request)):
			return "", fmt.Sprintf("the template of %s is not marked as judged for them, in the annotation %s: either the mutating webhook is not installed, or the object is older than that or than the policy, see 'sallyport identities bootstrap'",
				t.of, v1alpha1.AnnotationTemplateJudged)
		}
	}
	return m.name, ""
}

// exempting lists the labels of policies that pods in the object carry, and that
// count in the cluster of the request.
func (s *denyPolicies) exempting(r *request.Request, o *pod.Object) []*exemptLabels {
	return slices.DeleteFunc(s.exemptingIn(r.ClusterName), func(e *exemptLabels) bool { return !e.carriedIn(o) })
}

// exemptingIn lists the labels that count in a cluster.
func (s *denyPolicies) exemptingIn(cluster string) []*exemptLabels {
	var found []*exemptLabels
	for i := range s.exemptLabels {
		if e := &s.exemptLabels[i]; e.policy.scope.inCluster(cluster) {
			found = append(found, e)
		}
	}
	return found
}

// stamp is the part of a mark that is about the labels.
func (e *exemptLabels) stamp(r *request.Request) string {
	return identity.StampExemption(r.Controllers.Secret(), r.Namespace, e.policy.name, e.labels)
}

// newlyMarked returns the first pod that the labels exempt, of a template that they
// exempted before, where a mark for them appears.
func (e *exemptLabels) newlyMarked(r *request.Request) *pod.Pod {
	if isPod(r.Object.GVK.GroupKind()) {
		return nil
	}
	stamp := e.stamp(r)
	if !identity.Marked(markOf(r.Object), stamp) || identity.Marked(markOf(r.OldObject), stamp) {
		return nil
	}
	for i := range r.Object.Pods {
		if p := &r.Object.Pods[i]; e.carriedBy(p.Meta.Labels) {
			return p
		}
	}
	return nil
}

// newlySet returns the first pod of the object that the labels exempt and that
// they did not exempt before.
func (e *exemptLabels) newlySet(r *request.Request) *pod.Pod {
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
func (e *exemptLabels) carriedIn(o *pod.Object) bool {
	return slices.ContainsFunc(o.Pods, func(p pod.Pod) bool { return e.carriedBy(p.Meta.Labels) })
}

func (e *exemptLabels) carriedBy(labels map[string]string) bool {
	for key, value := range e.labels {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func (e *exemptLabels) findings(p *pod.Pod) []decision.Finding {
	var findings []decision.Finding
	for _, key := range e.keys() {
		findings = append(findings, decision.Finding{
			Path: p.FieldPath("metadata.labels[" + key + "]"), Value: e.labels[key],
			Detail: "exempts the pod from DenyPolicy " + e.policy.name,
		})
	}
	return findings
}

func (e *exemptLabels) keys() []string {
	keys := make([]string, 0, len(e.labels))
	for key := range e.labels {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// String lists the labels as kubectl writes them: a=b,c=d.
func (e *exemptLabels) String() string {
	var pairs []string
	for _, key := range e.keys() {
		pairs = append(pairs, key+"="+e.labels[key])
	}
	return strings.Join(pairs, ",")
}
