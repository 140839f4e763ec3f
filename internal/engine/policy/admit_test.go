package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestRefusalsSayWhatCanBeDone says that a refusal sends nobody to look for what
// there is not.
func TestRefusalsSayWhatCanBeDone(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "root", privileged), podNamed("shop", "web", nil))
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	ours := v1alpha1.GroupVersion.WithKind(stored.KindDenyPolicy)
	const bad = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: ` + hostPIDSpec + `}`
	const marked = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {exempt: "yes"}}, spec: {containers: [{name: app, image: a}]}}`
	exempting := func(r *request.Request) *request.Request { r.Authorizer = state; return r }
	for _, tt := range []struct {
		name    string
		set     *Set
		request *request.Request
		want    string
	}{
		{"a policy that is wrong", setOf(t), created(t, state, ours, "denypolicies", strings.Replace(strict, "maxScore: 50", "maxScore: 500", 1)),
			"Next: correct these fields, and send the policy again."},
		{"a policy with an unknown field", setOf(t), created(t, state, ours, "denypolicies", strings.Replace(strict, "thresholds", "threshold", 1)),
			"Next: correct these fields, and send the policy again."},
		{"a standard", setOf(t, podSecurity("[Pod]", "{level: baseline}", "Enforce")), created(t, state, pods, "pods", bad),
			"Next: change these fields, or ask for an exception to ClusterPolicy p with a PolicyExceptionRequest."},
		{"a rule about requests", setOf(t, `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: shut}, spec: {rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/exec]}]}}`), exec(state, "shop", "web"),
			"Next: ask for an exception to DenyPolicy shut with a PolicyExceptionRequest."},
		{"risk", setOf(t, strict), exec(state, "shop", "root"),
			"Next: use a pod without these settings, or ask for an exception to DenyPolicy strict with a PolicyExceptionRequest."},
		{"no access to any pod", setOf(t, `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: shut}, spec: {podSecurityRules: {thresholds: [{maxScore: 100, action: deny}]}}}`), exec(state, "shop", "web"),
			"Next: ask for an exception to DenyPolicy shut with a PolicyExceptionRequest."},
		{"labels that exempt", setOf(t, strict), exempting(created(t, state, pods, "pods", marked)),
			"Next: leave these labels out, or ask the owners of DenyPolicy strict for the right to set them."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.set.Decide(t.Context(), tt.request)
			if reason := decision.Reason("this", &d, 4096); !strings.HasSuffix(reason, tt.want) {
				t.Errorf("got %q, want it to end %q", reason, tt.want)
			}
		})
	}
}

// TestWhatIsWrittenIsSeenBesideWhatIsInForce warns of no policy as missing that is
// there, whatever kind it is of, and of nothing that another object does.
func TestWhatIsWrittenIsSeenBesideWhatIsInForce(t *testing.T) {
	set := setOf(t, cap0("module", "policyServer: elsewhere"), podSecurity("[Pod]", "{level: baseline}", "Enforce"))
	exception := func(policy string) string {
		return yamlOf("PolicyException", "shop/e", "spec: {exceptions: [{policyName: "+policy+"}], match: {any: [{resources: {kinds: [Pod]}}]}}")
	}
	for name, c := range map[string]struct {
		kind, document string
		says           string
	}{
		"an exception to a module":       {"PolicyException", exception("module"), ""},
		"an exception to a rule":         {"PolicyException", exception("p"), ""},
		"an exception to what is absent": {"PolicyException", exception("absent"), "absent"},
		"another module":                 {stored.KindClusterAdmissionPolicy, cap0("other"), ""},
	} {
		r := created(t, clusterOf(t, namespace("shop", nil)), v1alpha1.GroupVersion.WithKind(c.kind), "things", c.document)
		got := only(t, set.Decide(t.Context(), r))
		if (got.Status == decision.Pass) != (c.says == "") || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %s %s", name, got.Status, got.Message)
		}
	}
}
