package webhooks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestWebhooksAskWhatPoliciesAreAbout and nothing else.
func TestWebhooksAskWhatPoliciesAreAbout(t *testing.T) {
	module := func(rest string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterAdmissionPolicy\nmetadata: {name: m}\nspec: {module: file:///m.wasm, " + rest + "}\n"
	}
	for _, c := range []struct {
		name, policy string
		want         []string
	}{
		{"what the shipped webhooks ask about", clusterPolicy("x", about("Pod")), nil},
		{"a kind", clusterPolicy("x", about("Secret")), []string{"fail CREATE UPDATE /secrets"}},
		{"a kind that is asked about where labels change", clusterPolicy("x", about("Service")), []string{"fail CREATE UPDATE /services", "fail-labels UPDATE /services/status"}},
		{"only when it is made", clusterPolicy("x", `{rules: [{name: r, match: {any: [{resources: {kinds: [Service], operations: [CREATE]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`), []string{"fail CREATE /services"}},
		{"let in where it cannot be judged", clusterPolicy("x", about("Secret", "failurePolicy: Ignore")), []string{"ignore CREATE UPDATE /secrets"}},
		{"a subresource", clusterPolicy("x", about("Deployment/scale")), []string{"fail UPDATE apps/deployments/scale"}},
		{"a way in", clusterPolicy("x", about("Pod/exec")), []string{"fail CONNECT /pods/exec"}},
		{"what is never asked about", clusterPolicy("x", about("Pod/log")), nil},
		{"kinds of a group", clusterPolicy("x", about("example.com/*/*")), []string{"fail CREATE UPDATE example.com/gadgets,widgets"}},
		{"a version of a kind", clusterPolicy("x", about("example.com/v1beta1/Widget")), []string{"fail CREATE UPDATE example.com/widgets", "fail.v1beta1.example.com CREATE UPDATE example.com/widgets as v1beta1"}},
		{"the only version of a custom kind", clusterPolicy("x", about("example.com/v1beta1/Gadget")), []string{"fail CREATE UPDATE example.com/gadgets", "fail.v1beta1.example.com CREATE UPDATE example.com/gadgets as v1beta1"}},
		{"every version of a custom kind", clusterPolicy("x", about("example.com/*/Gadget")), []string{"fail CREATE UPDATE example.com/gadgets"}},
		{"each version of a custom kind, which can get another", clusterPolicy("x", about("example.com/v1beta1/Widget, example.com/v1/Widget")),
			[]string{"fail CREATE UPDATE example.com/widgets", "fail.v1.example.com CREATE UPDATE example.com/widgets as v1", "fail.v1beta1.example.com CREATE UPDATE example.com/widgets as v1beta1"}},
		{"each version of a kind of Kubernetes", clusterPolicy("x", about("autoscaling/v1/HorizontalPodAutoscaler, autoscaling/v2/HorizontalPodAutoscaler")), []string{"fail CREATE UPDATE autoscaling/horizontalpodautoscalers"}},
		{"the only version of a kind of Kubernetes", clusterPolicy("x", about("v1/Secret")), []string{"fail CREATE UPDATE /secrets"}},
		{"a kind of Kubernetes by a filter about less", clusterPolicy("x", `{rules: [{name: r, match: {any: [{resources: {kinds: [HorizontalPodAutoscaler], namespaces: [a]}}, {resources: {kinds: [autoscaling/v2/HorizontalPodAutoscaler]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"fail CREATE UPDATE autoscaling/horizontalpodautoscalers", "fail.v2.autoscaling CREATE UPDATE autoscaling/horizontalpodautoscalers as v2"}},
		{"versions by filters about the same", clusterPolicy("x", `{rules: [{name: r, match: {any: [{resources: {kinds: [autoscaling/v1/HorizontalPodAutoscaler]}}, {resources: {kinds: [autoscaling/v2/HorizontalPodAutoscaler]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"fail CREATE UPDATE autoscaling/horizontalpodautoscalers", "fail.v1.autoscaling CREATE UPDATE autoscaling/horizontalpodautoscalers as v1", "fail.v2.autoscaling CREATE UPDATE autoscaling/horizontalpodautoscalers as v2"}},
		{"each version of a kind, by other operations", clusterPolicy("x", `{rules: [{name: r, match: {any: [{resources: {kinds: [example.com/v1/Widget], operations: [CREATE]}}, {resources: {kinds: [example.com/v1beta1/Widget], operations: [UPDATE]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"fail CREATE UPDATE example.com/widgets", "fail.v1.example.com CREATE example.com/widgets as v1", "fail.v1beta1.example.com UPDATE example.com/widgets as v1beta1"}},
		{"each version of a kind by a rule", clusterPolicy("x", `{failurePolicy: Ignore, rules: [{name: a, match: {any: [{resources: {kinds: [v1/Widget]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}, {name: b, match: {any: [{resources: {kinds: [v1beta1/Widget]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"ignore CREATE UPDATE example.com/widgets", "ignore.v1.example.com CREATE UPDATE example.com/widgets as v1", "ignore.v1beta1.example.com CREATE UPDATE example.com/widgets as v1beta1"}},
		{"a version that one of several filters names", clusterPolicy("x", `{rules: [{name: r, match: {all: [{resources: {kinds: [Widget]}}, {resources: {kinds: [example.com/v1/Widget]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"fail CREATE UPDATE example.com/widgets", "fail.v1.example.com CREATE UPDATE example.com/widgets as v1"}},
		{"one of two groups", clusterPolicy("x", about("events.k8s.io/v1/Event")), []string{"fail CREATE UPDATE events.k8s.io/events", "fail.v1.events.k8s.io CREATE UPDATE events.k8s.io/events as v1"}},
		{"the core group of two", clusterPolicy("x", about("core/v1/Event")), []string{"fail CREATE UPDATE /events", "fail.v1 CREATE UPDATE /events as v1"}},
		{"a version that is not served", clusterPolicy("x", about("example.com/v2/Widget")), nil},
		{"every kind", clusterPolicy("x", about(`"*"`)), []string{"fail-wide CREATE UPDATE /namespaces,secrets,services", "fail-wide CREATE UPDATE autoscaling/horizontalpodautoscalers", "fail-wide CREATE UPDATE example.com/gadgets,widgets", "fail-wide-labels UPDATE /services/status", "fail-wide-labels UPDATE apps/deployments/status"}},
		{"a lease by its name", clusterPolicy("x", about("Lease")), []string{"fail CREATE UPDATE coordination.k8s.io/leases"}},
		{"what webhooks are never asked about", clusterPolicy("x", about("ValidatingWebhookConfiguration")), nil},
		{"all of several", clusterPolicy("x", `{rules: [{name: r, match: {all: [{resources: {kinds: [Secret], operations: [CREATE, UPDATE]}}, {resources: {kinds: ["*"], operations: [UPDATE]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`),
			[]string{"fail UPDATE /secrets"}},
		{"a module", module(`rules: [{apiGroups: [""], apiVersions: [v1], resources: [services, secrets], operations: [CREATE, DELETE]}]`), []string{"fail CREATE DELETE /secrets,services"}},
		{"a module that changes pods", module(`mutating: true, rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]`), []string{"mutating fail CREATE /pods"}},
		{"a module that changes what is not shipped", module(`mutating: true, rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE, UPDATE, DELETE]}]`), []string{"fail CREATE UPDATE DELETE /secrets", "mutating fail CREATE UPDATE /secrets"}},
		{"a module that changes nothing that is deleted", module(`mutating: true, rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [widgets], operations: [DELETE]}]`), []string{"fail DELETE example.com/widgets"}},
		{"a module about everything", module(`rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]`),
			[]string{"fail-wide CREATE UPDATE DELETE /namespaces,secrets,services", "fail-wide DELETE /pods", "fail-wide DELETE apps/deployments", "fail-wide CREATE UPDATE DELETE autoscaling/horizontalpodautoscalers", "fail-wide CREATE UPDATE DELETE example.com/gadgets,widgets"}},
		{"a module about a resource with its subresources", module(`rules: [{apiGroups: [""], apiVersions: [v1], resources: ["services/*"], operations: [CREATE, UPDATE]}]`), []string{"fail CREATE UPDATE /services", "fail UPDATE /services/status"}},
		{"a module about subresources", module(`rules: [{apiGroups: [apps], apiVersions: ["*"], resources: ["*/scale"], operations: [UPDATE]}]`), []string{"fail UPDATE apps/deployments/scale"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.policy)
			w.follows(t)
			if diff := cmp.Diff(c.want, w.looks(t)); diff != "" {
				t.Error(diff)
			}
			written := w.written
			if (written > 0) != (len(c.want) > 0) {
				t.Errorf("written %d times", written)
			}
			if w.looks(t); w.written != written {
				t.Error("what is there is written again")
			}
		})
	}
}

// TestWhatPoliciesSayOfWebhooks is whether all that they are about is asked about.
func TestWhatPoliciesSayOfWebhooks(t *testing.T) {
	ref := stored.Ref{Kind: "ClusterPolicy", Name: "x"}
	for _, c := range []struct {
		name, policy string
		follow       bool
		change       func(*world)
		want, says   string
	}{
		{"asked by what is shipped", clusterPolicy("x", about("Pod")), false, nil, "True Asked", "asks about all"},
		{"asked by what follows", clusterPolicy("x", about("Secret")), true, nil, "True Asked", "asks about all"},
		{"nothing follows", clusterPolicy("x", about("Secret")), false, nil, "False NotAsked", `CREATE of secrets: no webhook asks; UPDATE of secrets: no webhook asks. Add them to a webhook, or install the configuration whose name ends with "-rules"`},
		{"static", clusterPolicy("x", about("Secret")), true, func(w *world) { w.Static = true }, "False NotAsked", "no webhook asks"},
		{"only where labels change", clusterPolicy("x", about("Service")), false, nil, "False NotAsked", `the webhook services.sallyport.io of sallyport asks, and its match condition "labels-change" leaves requests out`},
		{"a kind that is not there", clusterPolicy("x", about("Gizmo")), true, nil, "False KindUnknown", "the API server has no Gizmo"},
		{"a version that is not there", clusterPolicy("x", about("example.com/v3/Widget")), true, nil, "False KindUnknown", "the API server has no example.com/v3/Widget"},
		{"a kind that is not there beside one that is", clusterPolicy("x", about("Gizmo, Secret")), true, nil, "False KindUnknown", "all else that the policy is about is asked about"},
		{"a group that cannot be read", clusterPolicy("x", about("Gizmo")), true, func(w *world) {
			w.api.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "gizmos.io", Version: "v1"}: errAPI}}
		}, "False KindsUnread", "gizmos.io"},
		{"one of two versions", clusterPolicy("x", about("example.com/v1beta1/Widget")), true, nil, "True Asked", "asks about all"},
		{"both versions", clusterPolicy("x", about("example.com/v1beta1/Widget, example.com/v1/Widget")), true, nil, "True Asked", "asks about all"},
		{"a kind by its group", clusterPolicy("x", about("example.com/*/Widget")), true, nil, "True Asked", "asks about all"},
		{"one of two groups", clusterPolicy("x", about("events.k8s.io/v1/Event")), true, nil, "True Asked", "asks about all"},
		{"the other of two groups", clusterPolicy("x", about("v1/Event")), true, nil, "True Asked", "asks about all"},
		{"a kind of two groups", clusterPolicy("x", about("Event")), true, nil, "True Asked", "asks about all"},
		{"one of two versions that nothing asks about", clusterPolicy("x", about("example.com/v1beta1/Widget")), false, nil, "False NotAsked", "no webhook asks"},
		{"every kind", clusterPolicy("x", about(`"*"`)), true, nil, "True Asked", "except for what only a policy that names it is asked about: Events, Leases"},
		{"many", clusterPolicy("x", about(`"*"`)), false, nil, "False NotAsked", "and 9 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.policy)
			if c.follow {
				w.follows(t)
			}
			if c.change != nil {
				c.change(w)
			}
			if _, err := w.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := w.condition(t, ref)
			if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s %s: %s", got.Status, got.Reason, got.Message)
			}
			if w.retold != 1 {
				t.Errorf("it is told %d times", w.retold)
			}
			if _, err := w.reconcile(t.Context()); err != nil || w.retold != 1 {
				t.Errorf("%v: it is told again without a change", err)
			}
		})
	}
}

// TestNarrowedWebhooks do not count as asking.
func TestNarrowedWebhooks(t *testing.T) {
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	ignore, exact := admissionregistrationv1.Ignore, admissionregistrationv1.Exact
	for _, c := range []struct {
		name   string
		change func(*admissionregistrationv1.ValidatingWebhook)
		says   string
	}{
		{"as it is shipped", func(*admissionregistrationv1.ValidatingWebhook) {}, ""},
		{"objects", func(w *admissionregistrationv1.ValidatingWebhook) { w.ObjectSelector = some }, "its objectSelector leaves objects out"},
		{"every object", func(w *admissionregistrationv1.ValidatingWebhook) { w.ObjectSelector = &metav1.LabelSelector{} }, ""},
		{"namespaces", func(w *admissionregistrationv1.ValidatingWebhook) { w.NamespaceSelector = some }, "its namespaceSelector leaves namespaces out"},
		{"two namespaces", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector.MatchExpressions[0].Values = []string{"sallyport-system", "shop"}
		}, ""},
		{"namespaces by more than their names", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector.MatchExpressions = append(w.NamespaceSelector.MatchExpressions, metav1.LabelSelectorRequirement{Key: "team", Operator: metav1.LabelSelectorOpExists})
		}, "its namespaceSelector leaves namespaces out"},
		{"more under the name of what is shipped", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions[0].Expression = `request.namespace != "shop"`
		}, `its match condition "not-made-by-kubernetes-to-start-with" leaves requests out`},
		{"everything under the name of what is shipped", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions[0].Expression = "false && " + w.MatchConditions[0].Expression
		}, `its match condition "not-made-by-kubernetes-to-start-with" leaves requests out`},
		{"what is shipped under another name", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions[0].Name, w.MatchConditions[1].Name = w.MatchConditions[1].Name, w.MatchConditions[0].Name
		}, "leaves requests out"},
		{"a further namespace to start with", func(w *admissionregistrationv1.ValidatingWebhook) {
			for i := range w.MatchConditions {
				w.MatchConditions[i].Expression = strings.ReplaceAll(w.MatchConditions[i].Expression, "['kube-system']", `['kube-system',  "network"]`)
			}
		}, ""},
		{"as an earlier version left out", func(w *admissionregistrationv1.ValidatingWebhook) {
			for i := range w.MatchConditions {
				w.MatchConditions[i].Expression = strings.ReplaceAll(w.MatchConditions[i].Expression, "request.?subResource.orValue('')", "request.subResource")
			}
		}, ""},
		{"by another label", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector.MatchExpressions[0].Key = "team"
		}, "its namespaceSelector leaves namespaces out"},
		{"all but one namespace", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector.MatchExpressions[0].Operator = metav1.LabelSelectorOpIn
		}, "its namespaceSelector leaves namespaces out"},
		{"a selector that makes no sense", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
		}, "its objectSelector leaves objects out"},
		{"by a condition", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{Name: "not-shop", Expression: "true"})
		}, `its match condition "not-shop" leaves requests out`},
		{"by its failure policy", func(w *admissionregistrationv1.ValidatingWebhook) { w.FailurePolicy = &ignore }, "failurePolicy: Ignore"},
		{"an operation", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Operations = []admissionregistrationv1.OperationType{"CREATE"}
		}, "UPDATE of pods: no webhook asks"},
		{"every operation", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Operations = []admissionregistrationv1.OperationType{"*"}
		}, ""},
		{"a resource", func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"services"} }, "CREATE of pods: no webhook asks"},
		{"a group", func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].APIGroups = []string{"apps"} }, "CREATE of pods: no webhook asks"},
		{"a version that is not served", func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].APIVersions = []string{"v2"} }, "CREATE of pods: no webhook asks"},
		{"one of two versions, exactly", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchPolicy = &exact
			w.Rules = append(w.Rules, admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{"*"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}},
			})
		}, "CREATE of widgets.example.com: no webhook asks"},
		{"one of two versions", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules = append(w.Rules, admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{"*"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}},
			})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds := "Pod"
			if strings.Contains(c.name, "of two versions") {
				kinds = "Pod, Widget"
			}
			w := newWorld(t, clusterPolicy("x", about(kinds)))
			w.ship(t, func(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
				c.change(&configuration.Webhooks[0])
			})
			w.lacks(t, c.says)
		})
	}
}

// TestWebhooksAreTakenAway once no policy is about what they ask about, and others'
// stay.
func TestWebhooksAreTakenAway(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret, Widget")))
	w.follows(t)
	if got := w.looks(t); len(got) != 2 {
		t.Fatal(got)
	}
	w.policies(t, clusterPolicy("x", about("Secret")))
	if diff := cmp.Diff([]string{"fail CREATE UPDATE /secrets"}, w.looks(t)); diff != "" {
		t.Error(diff)
	}
	w.policies(t)
	if got := w.looks(t); len(got) != 0 {
		t.Error(got)
	}
	if _, ok := w.Asked(stored.Ref{Kind: "ClusterPolicy", Name: "x"}, policy.Version{}); ok {
		t.Error("something is said of a policy that is gone")
	}
}

// TestGroupsThatCannotBeRead keep what is asked about them.
func TestGroupsThatCannotBeRead(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Widget")))
	w.follows(t)
	want := w.looks(t)
	w.api.lists = w.api.lists[:4]
	w.api.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "example.com", Version: "v1"}: errAPI}}
	soon, err := w.reconcile(t.Context())
	if err != nil || !soon {
		t.Fatalf("%v, looked at again soon: %v", err, soon)
	}
	if diff := cmp.Diff(want, w.asks(t)); diff != "" {
		t.Error(diff)
	}
	// Once it can be read, and is not there, nothing is asked.
	w.api.err = nil
	if got := w.looks(t); len(got) != 0 {
		t.Error(got)
	}
}

// TestFaultsWriteNothing and keep what was said.
func TestFaultsWriteNothing(t *testing.T) {
	for name, fault := range map[string]func(*world){
		"discovery": func(w *world) { w.api.err = errAPI },
		"writing":   func(w *world) { w.applyErr = errAPI },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, clusterPolicy("x", about("Secret")))
			w.follows(t)
			w.looks(t)
			before := w.written
			w.policies(t, clusterPolicy("x", about("Secret, Widget")))
			fault(w)
			if soon, err := w.reconcile(t.Context()); !errors.Is(err, errAPI) || !soon {
				t.Errorf("%v, looked at again soon: %v", err, soon)
			}
			if diff := cmp.Diff([]string{"fail CREATE UPDATE /secrets"}, w.asks(t)); diff != "" || w.written != before {
				t.Error(diff)
			}
			if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionTrue {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestWhatIsNotKnownIsSaid of policies of which nothing was found out, and only of
// these.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Pod")))
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.policies(t, clusterPolicy("x", about("Pod")), clusterPolicy("later", about("Pod")))
	w.doubt(errAPI)
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
	got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "later"})
	if got.Status != metav1.ConditionUnknown || !strings.Contains(got.Message, errAPI.Error()) || w.retold != 2 {
		t.Errorf("%+v, told %d times", got, w.retold)
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "later"}); got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
}

// TestWithoutWhatIsShipped leads nowhere, and writes nothing.
func TestWithoutWhatIsShipped(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret")))
	w.follows(t)
	if err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "sallyport", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := w.looks(t); len(got) != 0 {
		t.Error(got)
	}
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionFalse {
		t.Errorf("%+v", got)
	}
}

// TestWhereFollowingWebhooksLead is where those lead that are shipped, and what these
// leave out: the namespace of Sallyport.
func TestWhereFollowingWebhooksLead(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret")), clusterPolicy("w", about(`"*"`)))
	w.follows(t)
	w.looks(t)
	v, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.Webhooks {
		if diff := cmp.Diff(leadsTo("/validate"), one.ClientConfig); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(notOwn(), one.NamespaceSelector); diff != "" {
			t.Error(diff)
		}
		if one.ObjectSelector != nil && len(one.ObjectSelector.MatchLabels) > 0 || *one.SideEffects != admissionregistrationv1.SideEffectClassNone {
			t.Errorf("%s", toJSON(t, one))
		}
		for _, c := range wiring.LeftOut("sallyport-system", []string{"kube-system"}) {
			if !slices.Contains(one.MatchConditions, c) {
				t.Errorf("%s asks about what it should leave out: %q", one.Name, c.Name)
			}
		}
	}
	if len(v.Webhooks) != 3 {
		t.Errorf("%s", toJSON(t, v.Webhooks))
	}
}

// TestOnlyTheLeaderLooks and no one does before policies were read.
func TestOnlyTheLeaderLooks(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret")))
	w.follows(t)
	ctx, end := cancelled(t)
	for _, c := range []struct {
		leads, synced bool
	}{{false, true}, {true, false}} {
		w.leads, w.Synced = c.leads, func() bool { return c.synced }
		end()
		if err := w.Run(ctx); err != nil || w.written != 0 {
			t.Errorf("%v, written %d times", err, w.written)
		}
	}
	w.leads, w.Synced = true, func() bool { return true }
	if err := w.Run(ctx); err != nil || w.written == 0 {
		t.Errorf("%v, written %d times", err, w.written)
	}
}

// TestEndsWhileTheAPIServerHangs does not wait for an answer that does not come.
func TestEndsWhileTheAPIServerHangs(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret")))
	w.api.hangs = true
	ctx, end := cancelled(t)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	end()
	if err := <-ended; err != nil || w.written != 0 {
		t.Errorf("%v, written %d times", err, w.written)
	}
}
