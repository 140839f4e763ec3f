package webhooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

func policyIn(namespace, name, spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: Policy\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec + "\n"
}

// following are the validating webhooks that follow policies.
func (w *world) following(t *testing.T) map[string]admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	w.looks(t)
	v, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]admissionregistrationv1.ValidatingWebhook{}
	for _, one := range v.Webhooks {
		all[strings.TrimSuffix(one.Name, suffix)] = one
	}
	return all
}

// ship changes what is shipped.
func (w *world) ship(t *testing.T, change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	t.Helper()
	configuration := shippedConfiguration()
	change(configuration)
	if _, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), configuration, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// lacks looks at what is shipped, which must leave out what is said, or nothing, and then
// has webhooks follow, which ask about what is left out.
func (w *world) lacks(t *testing.T, says string) {
	t.Helper()
	ref := stored.Ref{Kind: "ClusterPolicy", Name: "x"}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := w.condition(t, ref)
	if (says == "") != (got.Status == metav1.ConditionTrue) || !strings.Contains(got.Message, says) {
		t.Errorf("%s: %s", got.Status, got.Message)
	}
	if says == "" {
		return
	}
	w.follows(t)
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.condition(t, ref); got.Status != metav1.ConditionTrue {
		t.Errorf("with what follows: %s", got.Message)
	}
}

// TestPoliciesOfNamespaces are asked about their own only.
func TestPoliciesOfNamespaces(t *testing.T) {
	const where = "request.namespace in ["
	for _, c := range []struct {
		name     string
		policies []string
		want     []string
		in       map[string]string
		says     []string
	}{
		{"one", []string{policyIn("ops", "x", about("Secret"))}, []string{"fail-namespaces CREATE UPDATE /secrets"}, map[string]string{"fail-namespaces": "ops"}, nil},
		{"what is not in namespaces", []string{policyIn("ops", "x", about("Secret, ClusterRole, Namespace"))}, []string{"fail-namespaces CREATE UPDATE /secrets"}, map[string]string{"fail-namespaces": "ops"}, nil},
		{"every kind", []string{policyIn("ops", "x", about(`"*"`))},
			[]string{"fail-wide-namespaces CREATE UPDATE /secrets,services", "fail-wide-namespaces CREATE UPDATE autoscaling/horizontalpodautoscalers", "fail-wide-namespaces CREATE UPDATE example.com/gadgets,widgets", "fail-wide-labels-namespaces UPDATE /services/status", "fail-wide-labels-namespaces UPDATE apps/deployments/status"},
			map[string]string{"fail-wide-namespaces": "ops", "fail-wide-labels-namespaces": "ops"}, nil},
		{"several about the same", []string{policyIn("ops", "x", about("Secret")), policyIn("dev", "x", about("Secret"))}, []string{"fail-namespaces CREATE UPDATE /secrets"}, map[string]string{"fail-namespaces": "dev ops"}, nil},
		{"several about others", []string{policyIn("ops", "x", about("Secret")), policyIn("dev", "x", about("Secret, Lease"))},
			[]string{"fail-namespaces CREATE UPDATE /secrets", "fail-namespaces CREATE UPDATE coordination.k8s.io/leases"}, map[string]string{"fail-namespaces": "dev ops"},
			[]string{where + "'dev', 'ops']", where + "'dev']"}},
		{"beside one of the cluster", []string{policyIn("ops", "x", about("Secret")), clusterPolicy("x", about("Secret"))}, []string{"fail CREATE UPDATE /secrets"}, nil, nil},
		{"in what is left out", []string{policyIn("sallyport-system", "x", about("Secret"))}, nil, nil, nil},
		{"about what is shipped", []string{policyIn("ops", "x", about("Pod"))}, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.policies...)
			w.follows(t)
			if diff := cmp.Diff(c.want, w.looks(t)); diff != "" {
				t.Error(diff)
			}
			all := w.following(t)
			for name, in := range c.in {
				h := all[name]
				if h.NamespaceSelector == nil || len(h.NamespaceSelector.MatchExpressions) != 1 || strings.Join(h.NamespaceSelector.MatchExpressions[0].Values, " ") != in || h.NamespaceSelector.MatchExpressions[0].Operator != metav1.LabelSelectorOpIn {
					t.Errorf("%s asks in %+v", name, h.NamespaceSelector)
				}
				for _, r := range h.Rules {
					if *r.Scope != admissionregistrationv1.NamespacedScope {
						t.Errorf("%s asks about %s", name, *r.Scope)
					}
				}
			}
			last := all["fail-namespaces"].MatchConditions
			for _, s := range c.says {
				if !strings.Contains(last[len(last)-1].Expression, s) {
					t.Errorf("no %q in %s", s, last[len(last)-1].Expression)
				}
			}
			written := w.written
			if w.looks(t); w.written != written {
				t.Error("what is there is written again")
			}
		})
	}
}

// TestWhatPoliciesOfNamespacesSay is whether they are asked about in their own.
func TestWhatPoliciesOfNamespacesSay(t *testing.T) {
	w := newWorld(t, policyIn("ops", "x", about("Secret")), policyIn("sallyport-system", "x", about("Secret")), policyIn("shop", "p", about("Pod")))
	w.follows(t)
	w.ship(t, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[0].NamespaceSelector.MatchExpressions[0].Values = []string{"sallyport-system", "registry"}
	})
	w.looks(t)
	for namespace, want := range map[string]string{"ops x": "True", "sallyport-system x": "False", "shop p": "True"} {
		in, name, _ := strings.Cut(namespace, " ")
		if got := w.condition(t, stored.Ref{Kind: "Policy", Namespace: in, Name: name}); string(got.Status) != want {
			t.Errorf("%s: %s %s", namespace, got.Status, got.Message)
		}
	}
}

// TestInWhichNamespaces evaluates the condition that says about what it is asked where,
// for many.
func TestInWhichNamespaces(t *testing.T) {
	var policies []string
	for i := range 1000 {
		kinds := "Secret"
		if i%2 == 0 {
			kinds = "Secret, Lease, Deployment/scale"
		}
		policies = append(policies, policyIn(fmt.Sprintf("team-%d", i), "x", about(kinds)))
	}
	w := newWorld(t, policies...)
	w.follows(t)
	all := w.following(t)
	h := all["fail-namespaces"]
	if len(all) != 1 || len(h.NamespaceSelector.MatchExpressions[0].Values) != 1000 {
		t.Fatalf("%d webhooks, the first in %d namespaces", len(all), len(h.NamespaceSelector.MatchExpressions[0].Values))
	}
	c := h.MatchConditions[len(h.MatchConditions)-1]
	if c.Name != "of-policies-of-the-namespace" {
		t.Fatalf("%+v", c)
	}
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(c.Expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		namespace, group, resource, subresource string
		want                                    bool
	}{
		{"team-1", "", "secrets", "", true}, {"team-2", "", "secrets", "", true}, {"other", "", "secrets", "", false},
		{"team-2", "coordination.k8s.io", "leases", "", true}, {"team-1", "coordination.k8s.io", "leases", "", false},
		{"team-2", "apps", "deployments", "scale", true}, {"team-1", "apps", "deployments", "scale", false}, {"team-2", "apps", "deployments", "", false},
	} {
		r := map[string]any{"operation": "UPDATE", "namespace": one.namespace, "resource": map[string]any{"group": one.group, "resource": one.resource}}
		if one.subresource != "" {
			r["subResource"] = one.subresource
		}
		got, _, err := program.Eval(map[string]any{"request": r})
		if err != nil || got.Value() != one.want {
			t.Errorf("%+v: %v, %v", one, got, err)
		}
	}
}

// TestConditionsHaveABound beyond which each is asked about in all of the namespaces.
func TestConditionsHaveABound(t *testing.T) {
	in := spaces{}
	for i := range 10_000 {
		in.add(cell{"", fmt.Sprintf("r%d", i%50), "CREATE"}, fmt.Sprintf("team-%d", i))
	}
	if c := in.conditions(); c != nil {
		t.Errorf("%d characters", len(c[0].Expression))
	}
	if got := len(in.selector().MatchExpressions[0].Values); got != 10_000 {
		t.Errorf("%d namespaces", got)
	}
}

// TestFollowingLeavesOutWhatIsShipped however the shipped ones were changed.
func TestFollowingLeavesOutWhatIsShipped(t *testing.T) {
	values := func(names ...string) func(*admissionregistrationv1.ValidatingWebhookConfiguration) {
		return func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector.MatchExpressions[0].Values = names
		}
	}
	ignore := admissionregistrationv1.Ignore
	for _, c := range []struct {
		name, kinds string
		change      func(*admissionregistrationv1.ValidatingWebhookConfiguration)
		namespace   string
		want        string
		pods        bool
	}{
		{"as it is shipped", "Secret", func(*admissionregistrationv1.ValidatingWebhookConfiguration) {}, "", "sallyport-system", false},
		{"a further namespace", "Secret", values("sallyport-system", "registry"), "", "registry sallyport-system", false},
		{"none", "Secret", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks[0].NamespaceSelector = nil }, "", "sallyport-system", false},
		{"by a label", "Secret", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, "", "sallyport-system", false},
		{"another namespace of Sallyport", "Secret", values("guard"), "", "guard", false},
		{"another namespace of Sallyport, which is known", "Secret", values("registry"), "guard", "guard registry", false},
		{"pods that are asked about by labels", "Pod", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, "", "sallyport-system", true},
		{"pods that are let in", "Pod", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks[0].FailurePolicy = &ignore }, "", "sallyport-system", true},
		{"pods under a condition more", "Pod", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].MatchConditions = append(c.Webhooks[0].MatchConditions, admissionregistrationv1.MatchCondition{Name: "more", Expression: "true"})
		}, "", "sallyport-system", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, clusterPolicy("x", about(c.kinds)))
			w.Namespace = c.namespace
			w.follows(t)
			w.ship(t, c.change)
			h := w.following(t)["fail"]
			if h.NamespaceSelector == nil || strings.Join(h.NamespaceSelector.MatchExpressions[0].Values, " ") != c.want {
				t.Fatalf("%+v", h.NamespaceSelector)
			}
			for _, condition := range podsLeftOut() {
				if slices.Contains(h.MatchConditions, condition) != c.pods {
					t.Errorf("%q stands there: %v", condition.Name, !c.pods)
				}
			}
			if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionTrue || strings.Contains(got.Message, "registry") != strings.Contains(c.want, "registry") {
				t.Errorf("%s %s", got.Status, got.Message)
			}
		})
	}
}

// TestNamespacesToStartWith are those that the administrator lists.
func TestNamespacesToStartWith(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Pod, Secret")))
	w.follows(t)
	w.ship(t, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range c.Webhooks[0].MatchConditions {
			m := &c.Webhooks[0].MatchConditions[i]
			m.Expression = strings.ReplaceAll(m.Expression, "['kube-system']", "['kube-system', 'network']")
		}
		c.Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	})
	h := w.following(t)["fail"]
	for _, want := range wiring.LeftOut("sallyport-system", []string{"kube-system", "network"}) {
		if !slices.Contains(h.MatchConditions, want) {
			t.Errorf("%q is another: %s", want.Name, toJSON(t, h.MatchConditions))
		}
	}
	listed := 0
	for _, c := range h.MatchConditions {
		if strings.Contains(c.Expression, "request.namespace in ['kube-system', 'network']") {
			listed++
		}
	}
	if listed != len(podsLeftOut()) {
		t.Errorf("%d conditions of pods have the list", listed)
	}
}

// TestWhereIgnoreLeads is a path of its own, by a Service and by a URL.
func TestWhereIgnoreLeads(t *testing.T) {
	at := func(path string) *admissionregistrationv1.WebhookClientConfig {
		u := "https://sallyport.example:8443" + path
		return &admissionregistrationv1.WebhookClientConfig{URL: &u}
	}
	for _, c := range []struct {
		path, fail, ignore, converted string
		door                          bool
	}{
		{"/validate", "/validate", "/ignore/validate", "/ignore/converted/validate", true},
		{"/mutate", "/mutate", "/ignore/mutate", "/ignore/converted/mutate", true},
		{"/validate/prod", "/validate/prod", "/ignore/validate/prod", "/ignore/converted/validate/prod", true},
		{"/validate/validate", "/validate/validate", "/ignore/validate/validate", "/ignore/converted/validate/validate", true},
		{"/ignore/validate/prod", "/validate/prod", "/ignore/validate/prod", "/ignore/converted/validate/prod", true},
		{"/ignore/converted/validate", "/validate", "/ignore/validate", "/ignore/converted/validate", true},
		{"/converted/validate/converted", "/validate/converted", "/ignore/validate/converted", "/ignore/converted/validate/converted", true},
		{"/base/validate/eu%2Fprod", "/base/validate/eu%2Fprod", "/base/ignore/validate/eu%2Fprod", "/base/ignore/converted/validate/eu%2Fprod", true},
		{"/elsewhere", "/elsewhere", "/elsewhere", "/elsewhere", false},
		{"", "", "", "", false},
	} {
		version := schema.GroupVersion{Group: "example.com", Version: "v1"}
		for k, want := range map[class]string{{}: c.fail, {ignore: true}: c.ignore, {ignore: true, version: version}: c.converted} {
			service, ok := k.leads(leadsTo(c.path))
			if got := *service.Service.Path; got != want || ok != c.door {
				t.Errorf("%s leads to %s, %v, want %s", c.path, got, ok, want)
			}
			got, ok := k.leads(*at(c.path))
			if *got.URL != *at(want).URL || ok != c.door {
				t.Errorf("%s leads to %s, %v", c.path, *got.URL, ok)
			}
			for _, leads := range []admissionregistrationv1.WebhookClientConfig{service, got} {
				h := hook{leads: leads}
				if is := h.leadsToConverted(); is != (c.door && k.version == version) {
					t.Errorf("%s leads to what is converted: %v", want, is)
				}
			}
		}
	}
	w := newWorld(t, clusterPolicy("x", about("Secret", "failurePolicy: Ignore")), clusterPolicy("z", about("Widget")))
	w.follows(t)
	all := w.following(t)
	if got := *all["ignore"].ClientConfig.Service.Path; got != "/ignore/validate" {
		t.Errorf("ignore leads to %s", got)
	}
	if got := *all["fail"].ClientConfig.Service.Path; got != "/validate" {
		t.Errorf("fail leads to %s", got)
	}
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionTrue {
		t.Errorf("%s", got.Message)
	}
}

// TestWhatIsNeverAsked is said.
func TestWhatIsNeverAsked(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("SubjectAccessReview, Secret")))
	w.api.lists = append(w.api.lists, list("authorization.k8s.io/v1", "subjectaccessreviews SubjectAccessReview create"))
	w.follows(t)
	if diff := cmp.Diff([]string{"fail CREATE UPDATE /secrets"}, w.looks(t)); diff != "" {
		t.Error(diff)
	}
	got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"})
	if got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "subjectaccessreviews.authorization.k8s.io") {
		t.Errorf("%s %s", got.Status, got.Message)
	}
}

// TestSubresourcesThatRelabel are asked about where they are written as the whole object.
func TestSubresourcesThatRelabel(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Namespace, CertificateSigningRequest, Pod")))
	w.api.lists[0].APIResources = append(w.api.lists[0].APIResources, list("v1", "namespaces/status Namespace get,patch,update", "namespaces/finalize Namespace update").APIResources...)
	w.api.lists = append(w.api.lists, list("certificates.k8s.io/v1", "certificatesigningrequests CertificateSigningRequest",
		"certificatesigningrequests/approval CertificateSigningRequest get,patch,update", "certificatesigningrequests/status CertificateSigningRequest get,patch,update"))
	w.follows(t)
	if diff := cmp.Diff([]string{
		"fail CREATE UPDATE /namespaces", "fail CREATE UPDATE certificates.k8s.io/certificatesigningrequests",
		"fail-labels UPDATE /namespaces/finalize,namespaces/status", "fail-labels UPDATE certificates.k8s.io/certificatesigningrequests/approval,certificatesigningrequests/status",
	}, w.looks(t)); diff != "" {
		t.Error(diff)
	}
}
