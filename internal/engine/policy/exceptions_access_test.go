package policy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestLabelsThatExceptionsGoBy says which labels an exception is shown where a request
// carries no object: those of the pod that is entered, and of all else none, which
// is not the same as that there are none.
func TestLabelsThatExceptionsGoBy(t *testing.T) {
	const risk = `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {podSecurityRules: {appliesTo: {subresources: [exec, proxy, nodes/proxy]}, blockFactors: [privilegedContainer]}}}`
	const rules = `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {rules: [{verbs: ["*"], apiGroups: ["", apps], resources: ["*", "*/*"]}]}}`
	const onConnect = execs + `{cel: {expressions: [{expression: "request.name == 'other'"}]}}`
	state := clusterOf(t, namespace("shop", nil),
		podNamed("shop", "web", func(p *corev1.Pod) {
			privileged(p)
			p.Labels, p.Annotations, p.Spec.NodeName = map[string]string{"app": "web"}, map[string]string{"note": "x"}, "n1"
		}))
	into := func(resource, subresource, name string) *request.Request {
		r := access1(state, subresource, "shop", name)
		r.Resource.Resource = resource
		if resource == "nodes" {
			r.Namespace = ""
		}
		return r
	}
	connect := func(r *request.Request) *request.Request {
		r.Door, r.Operation, r.Verb, r.UID = request.Admission, request.Connect, "", "1"
		return r
	}
	without := func(state request.Cluster) *request.Request {
		r := into("pods", "exec", "web")
		r.Cluster = state
		return r
	}
	deleted := into("pods", "", "web")
	deleted.Door, deleted.Operation, deleted.Kind, deleted.OldObject = request.Admission, request.Delete, call.PodGVK, objectOf(t, podNamed("shop", "web", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }))
	made := created(t, state, deploymentGVK, "deployments", strings.Replace(deployment("shop", "web", ""), "name: web,", "name: web, labels: {app: web},", 1))
	scaled := created(t, state, schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, "deployments", "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: web, namespace: shop}, spec: {replicas: 2}}")
	scaled.Operation, scaled.Subresource, scaled.Resource.Group = request.Update, "scale", "apps"
	const (
		labelled   = `selector: {matchLabels: {app: web}}`
		unlabelled = `selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}`
		annotated  = `annotations: {note: x}`
		pods       = `kinds: [Pod, "Pod/*"], `
		nodes      = `kinds: ["Node/*"], `
	)
	for name, c := range map[string]struct {
		policy, match string
		r             *request.Request
		want          decision.Status
		says          string
	}{
		"the pod's, by its risk":             {risk, pods + labelled, into("pods", "exec", "web"), decision.Skip, ""},
		"its annotations":                    {risk, pods + annotated, into("pods", "exec", "web"), decision.Skip, ""},
		"which it has":                       {risk, pods + unlabelled, into("pods", "exec", "web"), decision.Fail, ""},
		"the pod's, by a rule":               {rules, pods + labelled, into("pods", "exec", "web"), decision.Skip, ""},
		"its annotations, by a rule":         {rules, pods + annotated, into("pods", "exec", "web"), decision.Skip, ""},
		"which it has, by a rule":            {rules, pods + unlabelled, into("pods", "exec", "web"), decision.Fail, ""},
		"of a proxied pod":                   {rules, pods + labelled, into("pods", "proxy", "https:web:8080"), decision.Skip, ""},
		"of a pod on connecting":             {rules, pods + unlabelled, connect(into("pods", "exec", "web")), decision.Fail, ""},
		"of a pod, by a ClusterPolicy":       {rulePolicy("", onConnect), pods + labelled, connect(into("pods", "exec", "web")), decision.Skip, ""},
		"which it has, by a ClusterPolicy":   {rulePolicy("", onConnect), pods + unlabelled, connect(into("pods", "exec", "web")), decision.Fail, ""},
		"of a pod that is not there":         {rules, pods + unlabelled, into("pods", "exec", "gone"), decision.Fail, "pod shop/gone is not there"},
		"its name is known all the same":     {rules, pods + `names: [gone]`, into("pods", "exec", "gone"), decision.Skip, ""},
		"of a pod that cannot be read":       {rules, pods + unlabelled, without(unreadable{}), decision.Fail, "connection refused"},
		"where there is no cluster to ask":   {rules, pods + unlabelled, without(nil), decision.Fail, "no cluster"},
		"of a node, which are not its pod's": {risk, nodes + labelled, into("nodes", "proxy", "n1"), decision.Fail, ""},
		"of a node, which nothing shows":     {risk, nodes + unlabelled, into("nodes", "proxy", "n1"), decision.Fail, "the request does not show them"},
		"the node's name is known":           {risk, nodes + "names: [n1]", into("nodes", "proxy", "n1"), decision.Skip, ""},
		"of what the authorizer is asked of": {rules, pods + unlabelled, into("pods", "", "web"), decision.Fail, "the request does not show them"},
		"whose name it is told":              {rules, pods + "names: [web]", into("pods", "", "web"), decision.Skip, ""},
		"of what is deleted":                 {rules, pods + labelled, deleted, decision.Skip, ""},
		"of what is deleted, which it has":   {rules, pods + unlabelled, deleted, decision.Fail, ""},
		"of what is created":                 {rules, `kinds: [Deployment], selector: {matchLabels: {app: web}}`, made, decision.Skip, ""},
		"of what is scaled":                  {rules, `kinds: [Deployment/scale], names: [web]`, scaled, decision.Skip, ""},
		"of what is scaled, by its kind":     {rules, `kinds: [Deployment]`, scaled, decision.Fail, ""},
	} {
		t.Run(name, func(t *testing.T) {
			exception := "{apiVersion: sallyport.io/v1alpha1, kind: ClusterPolicyException, metadata: {name: e}, spec: {exceptions: [{policyName: p}], match: {any: [{resources: {" + c.match + "}}]}}}"
			got := only(t, setOf(t, c.policy, exception).Decide(t.Context(), c.r))
			if got.Status != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s %q, want %s with %q", got.Status, got.Message, c.want, c.says)
			}
		})
	}
}
