package policy

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const strict = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: strict}
spec:
  appliesTo: {clusters: ["prod-*"]}
  podSecurityRules:
    appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, log, nodes/proxy]}
    riskFactors: {privilegedContainer: 90}
    thresholds:
    - {maxScore: 50, action: allow}
    - {maxScore: 100, action: deny, reason: "score {{.score}}"}
    exemptions:
      namespaces: {patterns: [kube-system], selectorTerms: [{matchLabels: {trusted: "yes"}}]}
      podLabels: {exempt: "yes"}
`

func TestAccess(t *testing.T) {
	state := clusterOf(t,
		namespace("shop", nil), namespace("lab", map[string]string{"trusted": "yes"}),
		podNamed("shop", "web", nil), podNamed("shop", "root", privileged),
		podNamed("kube-system", "proxy", privileged), podNamed("lab", "root", privileged),
		podNamed("shop", "marked", func(p *corev1.Pod) { privileged(p); p.Labels = map[string]string{"exempt": "yes"} }),
		podNamed("shop", "onnode", func(p *corev1.Pod) { privileged(p); p.Spec.NodeName = "n1" }),
		podNamed("shop", "harmless", func(p *corev1.Pod) { p.Spec.NodeName = "n2" }),
		podNamed("kube-system", "exempt-on-node", func(p *corev1.Pod) { privileged(p); p.Spec.NodeName = "n2" }),
	)
	set := setOf(t, strict)
	with := func(r *request.Request, change func(*request.Request)) *request.Request { change(r); return r }
	node := func(name string) *request.Request {
		return with(access1(state, "proxy", "", name), func(r *request.Request) { r.Resource.Resource = "nodes" })
	}
	cases := []struct {
		name    string
		request *request.Request
		want    decision.Verdict
		status  decision.Status
		says    string
	}{
		{"a safe pod", exec(state, "shop", "web"), decision.Allow, decision.Pass, ""},
		{"a privileged pod", exec(state, "shop", "root"), decision.Deny, decision.Fail, "score 90"},
		{"by get", with(exec(state, "shop", "root"), func(r *request.Request) { r.Verb = "get" }), decision.Deny, decision.Fail, "score 90"},
		{"by a verb that nobody knows", with(exec(state, "shop", "root"), func(r *request.Request) { r.Verb = "frobnicate" }), decision.Deny, decision.Fail, "score 90"},
		{"attach", access1(state, "attach", "shop", "root"), decision.Deny, decision.Fail, "score 90"},
		{"port-forward", access1(state, "portforward", "shop", "root"), decision.Deny, decision.Fail, "score 90"},
		{"log", access1(state, "log", "shop", "root"), decision.Deny, decision.Fail, "score 90"},
		{"proxy with a port", access1(state, "proxy", "shop", "root:8080"), decision.Deny, decision.Fail, "score 90"},
		{"proxy with a scheme", access1(state, "proxy", "shop", "https:root:8080"), decision.Deny, decision.Fail, "score 90"},
		{"proxy with a scheme and no port", access1(state, "proxy", "shop", "https:root:"), decision.Deny, decision.Fail, "score 90"},
		{"proxy with too many colons", access1(state, "proxy", "shop", "a:b:c:d"), decision.Deny, decision.Error, "is not there"},
		{"debug", with(access1(state, "ephemeralcontainers", "shop", "root"), func(r *request.Request) { r.Verb = "patch" }), decision.Deny, decision.Fail, "score 90"},
		{"an exempt namespace", exec(state, "kube-system", "proxy"), decision.Allow, decision.Pass, "exempt"},
		{"a pod in an exempt namespace need not be there", exec(state, "kube-system", "gone"), decision.Allow, decision.Pass, "exempt"},
		{"a namespace exempt by its labels", exec(state, "lab", "root"), decision.Allow, decision.Pass, "exempt"},
		{"an exempt pod", exec(state, "shop", "marked"), decision.Allow, decision.Pass, "exempt"},
		{"a pod that is gone", exec(state, "shop", "gone"), decision.Deny, decision.Error, "failMode closed"},
		{"a namespace that cannot be read", exec(state, "nowhere", "web"), decision.Deny, decision.Error, "failMode closed"},
		{"a cluster that cannot be read", exec(unreadable{}, "shop", "web"), decision.Deny, decision.Error, "connection refused"},
		{"a node with a privileged pod", node("n1"), decision.Deny, decision.Fail, "shop/onnode"},
		{"a node by its port", node("n1:10250"), decision.Deny, decision.Fail, "shop/onnode"},
		{"a node whose risky pod is exempt", node("n2"), decision.Allow, decision.Pass, ""},
		{"a node that is not there", node("n3"), decision.Deny, decision.Error, "failMode closed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := set.Decide(t.Context(), c.request)
			r := only(t, d)
			if d.Verdict != c.want || r.Status != c.status || !strings.Contains(r.Message, c.says) {
				t.Errorf("%s, %s %q; want %s, %s %q", d.Verdict, r.Status, r.Message, c.want, c.status, c.says)
			}
		})
	}
}

// TestNothingNamed says that at the admission door, where somebody is about to
// enter, a request which does not say what is answered by the fail mode.
func TestNothingNamed(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "root", privileged))
	open := strings.Replace(strict, "exemptions:", "failMode: open\n    exemptions:", 1)
	for _, tt := range []struct {
		name, resource, subresource string
		policy                      string
		want                        decision.Verdict
	}{
		{"exec", "pods", "exec", strict, decision.Deny},
		{"attach", "pods", "attach", strict, decision.Deny},
		{"port-forward", "pods", "portforward", strict, decision.Deny},
		{"proxy", "pods", "proxy", strict, decision.Deny},
		{"a node", "nodes", "proxy", strict, decision.Deny},
		{"exec, open", "pods", "exec", open, decision.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := access1(state, tt.subresource, "shop", "")
			r.Resource.Resource, r.Door, r.Operation, r.Verb = tt.resource, request.Admission, request.Connect, ""
			d := setOf(t, tt.policy).Decide(t.Context(), r)
			if result := only(t, d); d.Verdict != tt.want || result.Status != decision.Error || !strings.Contains(result.Message, "does not name what it enters") {
				t.Errorf("%s, %+v", d.Verdict, result)
			}
		})
	}
}

func TestNoAccess(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "root", privileged))
	set := setOf(t, strict)
	with := func(change func(*request.Request)) *request.Request {
		r := exec(state, "shop", "root")
		change(r)
		return r
	}
	cases := map[string]*request.Request{
		"another cluster":        with(func(r *request.Request) { r.ClusterName = "dev" }),
		"the pod itself":         with(func(r *request.Request) { r.Subresource = "" }),
		"its status":             with(func(r *request.Request) { r.Subresource = "status" }),
		"no pod is named":        with(func(r *request.Request) { r.Name = "" }),
		"a pod of another group": with(func(r *request.Request) { r.Resource.Group = "metrics.k8s.io" }),
		"a virtual machine": with(func(r *request.Request) {
			r.Resource = schema.GroupVersionResource{Group: "subresources.kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
			r.Subresource = "portforward"
		}),
		"reading ephemeral containers":    with(func(r *request.Request) { r.Subresource, r.Verb = "ephemeralcontainers", "get" }),
		"a path that is not a resource":   {Door: request.Access, Verb: "get", NonResourcePath: "/version", ClusterName: "prod-eu", Cluster: state},
		"an admission that reads nothing": with(func(r *request.Request) { r.Door, r.Operation, r.Subresource = request.Admission, request.Delete, "" }),
	}
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			if d := set.Decide(t.Context(), r); d.Verdict != decision.Allow || len(d.Results) != 0 {
				t.Errorf("%s with %+v; nothing is about this", d.Verdict, d.Results)
			}
		})
	}
}

// TestWhatIsMissing says which object it is that is not there, and of no other
// that it is not.
func TestWhatIsMissing(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("lost", "web", nil), podNamed("lost", "onnode", func(p *corev1.Pod) { p.Spec.NodeName = "n1" }))
	rules := `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: rules}, spec: {rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/exec], namespaces: {selectorTerms: [{matchLabels: {team: a}}]}}]}}`
	node := func(name string) *request.Request {
		r := access1(state, "proxy", "", name)
		r.Resource.Resource = "nodes"
		return r
	}
	unread := node("n1")
	unread.Cluster = unreadable{}
	for _, tt := range []struct {
		name, policy string
		request      *request.Request
		says         string
	}{
		{"the pod", strict, exec(state, "shop", "gone"), "pod shop/gone is not there; failMode"},
		{"the namespace of a pod that is there", strict, exec(state, "lost", "web"), "namespace lost is not there; failMode"},
		{"the namespace and the pod", strict, exec(state, "nowhere", "web"), "namespace nowhere is not there; failMode"},
		{"a proxied pod", strict, access1(state, "proxy", "shop", "https:gone:80"), "pod shop/gone is not there; failMode"},
		{"a node", strict, node("n9"), "node n9 is not there; failMode"},
		{"the namespace of a pod of a node", strict, node("n1"), "namespace lost is not there; failMode"},
		{"the namespace, for rules", rules, exec(state, "lost", "web"), "namespace lost is not there; failMode"},
		{"the pods of a node", strict, unread, "the pods of the node cannot be read: connection refused; failMode"},
		{"nothing", strict, exec(unreadable{}, "kube", "web"), `the labels of namespace "kube" cannot be read: connection refused; failMode`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := only(t, setOf(t, tt.policy).Decide(t.Context(), tt.request))
			if r.Status != decision.Error || !strings.HasPrefix(r.Message, tt.says) || strings.Count(r.Message, "not there") > 1 {
				t.Errorf("%s %q, want %q", r.Status, r.Message, tt.says)
			}
		})
	}
}

// counted counts what is read of a cluster.
type counted struct {
	request.Cluster
	namespaces, pods, nodes int
}

func (c *counted) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	c.namespaces++
	return c.Cluster.Namespace(ctx, name)
}

func (c *counted) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	c.pods++
	return c.Cluster.Pod(ctx, namespace, name)
}

func (c *counted) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	c.nodes++
	return c.Cluster.PodsOnNode(ctx, node)
}

// powerless is a cluster that does not say what service accounts may do.
type powerless struct{ request.Cluster }

func (powerless) ServiceAccountPowers(context.Context, string, string) ([]string, error) {
	return nil, errUnreadable
}

// TestPowersThatCannotBeRead are answered by the fail mode.
func TestPowersThatCannotBeRead(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "web", nil))
	set := setOf(t, strings.Replace(strict, "privilegedContainer: 90", "powerfulServiceAccount: 90", 1))
	if d := set.Decide(t.Context(), exec(state, "shop", "web")); d.Refuses() {
		t.Fatal(messages(d))
	}
	d := set.Decide(t.Context(), exec(powerless{state}, "shop", "web"))
	if got := only(t, d); got.Status != decision.Error || !d.Refuses() || !strings.Contains(got.Message, "what service account shop/default may do cannot be read: connection refused") {
		t.Errorf("%s %s", got.Status, got.Message)
	}
}

// fickle says once what service accounts may do.
type fickle struct {
	request.Cluster
	asked *int
}

func (f fickle) ServiceAccountPowers(context.Context, string, string) ([]string, error) {
	if *f.asked++; *f.asked > 1 {
		return nil, errUnreadable
	}
	return []string{"may read every Secret"}, nil
}

// TestPowersThatCannotBeReadAgain let no session turn a judgement of which half is known.
func TestPowersThatCannotBeReadAgain(t *testing.T) {
	files := clusterOf(t, namespace("shop", nil), podNamed("shop", "web", nil))
	set := setOf(t, strings.Replace(riskyPolicy, "privilegedContainer: 90", "powerfulServiceAccount: 90", 1),
		escalation("e", "{enabled: true, exemptFactors: [hostIPC], maxAllowedScore: 50}"), session("s", "e", ""))
	d := set.Decide(t.Context(), exec(fickle{files, new(int)}, "shop", "web"))
	if got := only(t, d); got.Status != decision.Error || !d.Refuses() {
		t.Errorf("%s %s", got.Status, got.Message)
	}
}

// TestWhatIsEnteredIsReadOnce reads a pod, its namespace and the pods of a node once,
// however many policies go by them.
func TestWhatIsEnteredIsReadOnce(t *testing.T) {
	set := setOf(t, strict, strings.Replace(strict, "name: strict", "name: again", 1))
	files := clusterOf(t, namespace("shop", nil), podNamed("shop", "web", func(p *corev1.Pod) { p.Spec.NodeName = "n" }))
	for _, c := range []struct {
		subresource, namespace, name, resource string
		want                                   counted
	}{
		{"exec", "shop", "web", "pods", counted{namespaces: 1, pods: 1}},
		// Of a node, the pods of one namespace are a few, and each policy reads it.
		{"proxy", "", "n", "nodes", counted{namespaces: 2, nodes: 1}},
	} {
		state := &counted{Cluster: files}
		r := access1(state, c.subresource, c.namespace, c.name)
		r.Resource.Resource = c.resource
		if d := set.Decide(t.Context(), r); d.Refuses() || len(d.Results) != 2 {
			t.Errorf("%s: %s", c.resource, messages(d))
		}
		if state.Cluster = nil; *state != c.want {
			t.Errorf("%s: read %+v, want %+v", c.resource, *state, c.want)
		}
	}
}

func TestFailOpen(t *testing.T) {
	open := strings.Replace(strict, "exemptions:", "failMode: open\n    exemptions:", 1)
	d := setOf(t, open).Decide(t.Context(), exec(unreadable{}, "shop", "web"))
	if r := only(t, d); d.Verdict != decision.Allow || r.Status != decision.Error || r.FailClosed || !strings.Contains(r.Message, "failMode open") {
		t.Errorf("%s, %+v", d.Verdict, r)
	}
}

// The container is known only at admission; a review at the access door may be
// about any of them.
func TestContainerScope(t *testing.T) {
	scoped := strings.Replace(strict, "riskFactors:", "scope: container\n    riskFactors:", 1)
	yes := true
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "two", func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "risky", SecurityContext: &corev1.SecurityContext{Privileged: &yes}})
	}))
	set := setOf(t, scoped)
	admitted := func(container string) *request.Request {
		r := exec(state, "shop", "two")
		r.Door, r.Operation, r.Verb = request.Admission, request.Connect, ""
		r.Options = &request.ConnectOptions{Kind: "PodExecOptions", Container: container}
		return r
	}
	for name, c := range map[string]struct {
		request *request.Request
		want    decision.Verdict
	}{
		"the harmless container":  {admitted("app"), decision.Allow},
		"the risky container":     {admitted("risky"), decision.Deny},
		"the default container":   {admitted(""), decision.Allow},
		"a container that is not": {admitted("other"), decision.Deny},
		"any, at the access door": {exec(state, "shop", "two"), decision.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			if d := set.Decide(t.Context(), c.request); d.Verdict != c.want {
				t.Errorf("%s, want %s: %+v", d.Verdict, c.want, d.Results)
			}
		})
	}
}
