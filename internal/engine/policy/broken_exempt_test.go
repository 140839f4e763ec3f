package policy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestBrokenExempts enters pods that a DenyPolicy which cannot work exempts, and
// those of which it is not known.
func TestBrokenExempts(t *testing.T) {
	labelled := func(node string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels, p.Spec.NodeName = map[string]string{"exempt": "yes"}, node }
	}
	state := clusterOf(t, namespace("shop", nil), namespace("free", nil), podNamed("shop", "plain", nil), podNamed("shop", "marked", labelled("spared")),
		podNamed("free", "web", func(p *corev1.Pod) { p.Spec.NodeName = "spared" }),
		podNamed("free", "other", func(p *corev1.Pod) { p.Spec.NodeName = "free" }),
		podNamed("shop", "marked-too", labelled("mixed")), podNamed("shop", "web", func(p *corev1.Pod) { p.Spec.NodeName = "mixed" }))
	node := func(state request.Cluster, name string) *request.Request {
		r := access1(state, "proxy", "", name)
		r.Resource.Resource = "nodes"
		return r
	}
	const thresholds = "thresholds: [{maxScore: 1, action: perhaps}]}}"
	labels := yamlOf("DenyPolicy", "x", "spec: {podSecurityRules: {appliesTo: {subresources: [exec, nodes/proxy]}, exemptions: {namespaces: [free], podLabels: {exempt: \"yes\"}}, "+thresholds)
	for _, c := range []struct {
		name, document string
		request        *request.Request
		refused        bool
	}{
		{"a pod with the labels", labels, exec(state, "shop", "marked"), false},
		{"a pod without them", labels, exec(state, "shop", "plain"), true},
		{"a pod that is not there", labels, exec(state, "shop", "gone"), true},
		{"a pod that cannot be read", labels, exec(unreadable{}, "shop", "marked"), true},
		{"a node all of whose pods are exempt", labels, node(state, "spared"), false},
		{"a node one of whose pods is not", labels, node(state, "mixed"), true},
		{"a node all of whose pods are in exempt namespaces", strings.Replace(labels, `podLabels: {exempt: "yes"}`, "", 1), node(state, "free"), false},
		{"a node that cannot be read", labels, node(unreadable{}, "spared"), true},
		{"labels that exempt nothing", strings.Replace(labels, `exempt: "yes"`, `"no key": x`, 1), exec(state, "shop", "marked"), true},
		{"a namespace, with such labels", strings.Replace(labels, `exempt: "yes"`, `"no key": x`, 1), exec(state, "free", "web"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := started(t, c.document)
			if d := store.Set().Decide(t.Context(), c.request); d.Refuses() != c.refused || len(d.Results) != 1 {
				t.Errorf("refused is %v: %s", d.Refuses(), messages(d))
			}
		})
	}
}

// TestBrokenIdentitySubresources enters a pod by what an IdentitySource which cannot
// work says that it guards, and by what it does not say.
func TestBrokenIdentitySubresources(t *testing.T) {
	state := identityCluster(t)
	for list, refused := range map[string]string{
		"subresources: [exec, attach, ephemeralcontainers], ":        "exec, attach",
		"subresources: [exec, attach, ephemeralcontainers, proxy], ": "exec, attach, proxy",
		"":                         "exec, attach",
		"subresources: [attach], ": "exec, attach, proxy",
		"subresources: [], ":       "exec, attach, proxy",
		"subresources: [exec, attach, ephemeralcontainers, exce], ": "exec, attach, proxy",
		"subresources: [3], ":    "exec, attach, proxy",
		"subresources: attach, ": "exec, attach, proxy",
	} {
		t.Run(list, func(t *testing.T) {
			store, _ := started(t, yamlOf("IdentitySource", "x", "spec: {key: kerberos, "+list+"podAnnotation: {}, reviewForm: Later}"))
			for _, subresource := range []string{"exec", "attach", "proxy"} {
				r := access1(state, subresource, "shop", "app")
				r.Authorizer = state
				if d := store.Set().Decide(t.Context(), r); d.Refuses() != split(refused)[subresource] {
					t.Errorf("%s: refused is %v: %s", subresource, d.Refuses(), messages(d))
				}
			}
		})
	}
}
