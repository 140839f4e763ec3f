package policy

import (
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// RuleExemptLabels is the rule name in the results about labels that exempt.
const RuleExemptLabels = "podSecurityRules.exemptions.podLabels"

// exemptLabels are the labels that take a pod out of a policy.
type exemptLabels struct {
	policy *denyPolicy
	labels map[string]string
}

// decideExemptLabels judges whether the requester may set the labels that exempt
// a pod from a DenyPolicy. Without this, whoever may label a pod could open the
// side door to it. Setting them needs the verb exempt on that DenyPolicy.
func (s *Set) decideExemptLabels(c *call, results []decision.Result) []decision.Result {
	r := c.request
	for i := range s.exemptLabels {
		e := &s.exemptLabels[i]
		if !e.policy.scope.inCluster(r.ClusterName) {
			continue
		}
		at := e.newlySet(r)
		if at == nil || r.User.Name == "" || ownController(r) {
			continue
		}
		result := decision.Result{
			Policy: e.policy.name, Rule: RuleExemptLabels, Kind: KindDenyPolicy,
			Resource: c.resource(), Status: decision.Pass, Action: decision.Enforce, Source: r.Source,
			Remedy: decision.RemedyRight,
		}
		allowed, err := false, error(errNoAuthorizer)
		if r.Authorizer != nil {
			allowed, err = r.Authorizer.Allowed(c.ctx, r.User, request.Attributes{
				Verb: VerbExempt, Group: v1alpha1.GroupVersion.Group, Resource: "denypolicies", Name: e.policy.name,
			})
		}
		switch {
		case err != nil:
			result = e.policy.failMode(result, fmt.Sprintf("whether %s may exempt pods cannot be found out: %v", r.User.Name, err))
		case allowed:
			result.Message = r.User.Name + " may exempt pods from this policy"
		default:
			result.Status = decision.Fail
			result.Message = fmt.Sprintf("the labels %s exempt pods from DenyPolicy %s, and %s may not set them; whoever sets them needs the verb exempt on denypolicies.%s %q",
				e, e.policy.name, r.User.Name, v1alpha1.GroupVersion.Group, e.policy.name)
			result.Findings = e.findings(at)
		}
		results = append(results, result)
	}
	return results
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

// ownController reports whether a built-in controller makes a pod, or a Job,
// from the template of its owner. The template was judged when somebody wrote
// it. The accounts are those that the controller manager uses; nobody else can
// be authenticated as one of them.
func ownController(r *request.Request) bool {
	if r.Operation != request.Create || r.Object == nil {
		return false
	}
	for _, owner := range r.Object.Meta.OwnerReferences {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		account, ok := controllerAccounts[owner.Kind]
		return ok && (r.User.Name == account || r.User.Name == "system:kube-controller-manager")
	}
	return false
}

var controllerAccounts = map[string]string{
	"ReplicaSet":            "system:serviceaccount:kube-system:replicaset-controller",
	"ReplicationController": "system:serviceaccount:kube-system:replication-controller",
	"Deployment":            "system:serviceaccount:kube-system:deployment-controller",
	"DaemonSet":             "system:serviceaccount:kube-system:daemon-set-controller",
	"StatefulSet":           "system:serviceaccount:kube-system:statefulset-controller",
	"Job":                   "system:serviceaccount:kube-system:job-controller",
	"CronJob":               "system:serviceaccount:kube-system:cronjob-controller",
}
