package webhooks

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestWebhooksOfAVersion have the API server convert to it what is written by another,
// and lead to where only those policies are asked that name it.
func TestWebhooksOfAVersion(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("example.com/v1beta1/Widget")))
	w.follows(t)
	w.looks(t)
	h, ok := w.following(t)["fail.v1beta1.example.com"]
	if !ok {
		t.Fatal("there is none")
	}
	if *h.MatchPolicy != admissionregistrationv1.Equivalent || *h.FailurePolicy != admissionregistrationv1.Fail || *h.ClientConfig.Service.Path != "/converted/validate" {
		t.Errorf("%s", toJSON(t, h))
	}
	if last := h.MatchConditions[len(h.MatchConditions)-1]; last != onlyConverted {
		t.Errorf("%+v", last)
	}
}

// TestOnlyWebhooksOfAVersionConvert for the policies that name it.
func TestOnlyWebhooksOfAVersionConvert(t *testing.T) {
	type webhook = admissionregistrationv1.ValidatingWebhook
	exact := ptr.To(admissionregistrationv1.Exact)
	rule := func(group, version string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"*"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{"widgets"}}}
	}
	const open = "written by another version than example.com/v1beta1"
	for _, c := range []struct {
		name   string
		change func(plain, converts *webhook)
		says   string
	}{
		{"one of each", func(_, _ *webhook) {}, ""},
		{"what is not converted by the version only", func(plain, _ *webhook) { plain.Rules[0].APIVersions = []string{"v1beta1"} }, ""},
		{"what is not converted by the other version only", func(plain, _ *webhook) { plain.Rules[0].APIVersions = []string{"v1"} }, "CREATE of widgets.example.com: no webhook asks as example.com/v1beta1"},
		{"none that converts", func(_, converts *webhook) { converts.Rules[0].Resources = []string{"gadgets"} }, open},
		{"at the path for everything", func(_, converts *webhook) { converts.ClientConfig = leadsTo("/validate") }, open},
		{"everything at the path for what is converted", func(plain, converts *webhook) { plain.ClientConfig = converts.ClientConfig }, "no webhook asks"},
		{"another version", func(_, converts *webhook) { converts.Rules[0].APIVersions = []string{"v1"} }, open},
		{"every version", func(_, converts *webhook) { converts.Rules[0].APIVersions = []string{"*"} }, open},
		{"every group", func(_, converts *webhook) { converts.Rules[0].APIGroups = []string{"*"} }, open},
		{"the other version takes precedence over it", func(_, converts *webhook) { converts.Rules = append(converts.Rules, rule("example.com", "v1")) }, open},
		{"what matches exactly", func(_, converts *webhook) { converts.MatchPolicy = exact }, open},
		{"lets in", func(_, converts *webhook) { converts.FailurePolicy = ptr.To(admissionregistrationv1.Ignore) }, "lets it in while Sallyport cannot be asked"},
		{"objects left out", func(_, converts *webhook) {
			converts.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, "its objectSelector leaves objects out"},
		{"a condition of its own", func(_, converts *webhook) {
			converts.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "x", Expression: "true"}}
		}, `its match condition "x" leaves requests out`},
		{"the condition that is written by Sallyport", func(_, converts *webhook) {
			converts.MatchConditions = []admissionregistrationv1.MatchCondition{onlyConverted}
		}, ""},
		{"the condition of what is converted where nothing is", func(plain, _ *webhook) {
			plain.MatchConditions = []admissionregistrationv1.MatchCondition{onlyConverted}
		}, "leaves requests out"},
		{"some other Service", func(_, converts *webhook) { converts.ClientConfig.Service.Name = "other" }, "it leads elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, clusterPolicy("x", about("example.com/v1beta1/Widget")))
			plain := &webhook{Name: "widgets.example.com", ClientConfig: leadsTo("/validate"), Rules: []admissionregistrationv1.RuleWithOperations{rule("example.com", "*")}}
			converts := &webhook{Name: "converted.widgets.example.com", ClientConfig: leadsTo("/converted/validate"), Rules: []admissionregistrationv1.RuleWithOperations{rule("example.com", "v1beta1")}}
			c.change(plain, converts)
			exceptions := webhook{Name: "exceptions.sallyport.io", ClientConfig: leadsTo("/validate"), Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"*"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{"sallyport.io"}, APIVersions: []string{"*"}, Resources: []string{"*"}}}}}
			w.ship(t, func(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
				configuration.Webhooks = append(configuration.Webhooks, exceptions, *plain, *converts)
			})
			w.lacks(t, c.says)
		})
	}
}

// TestNamesOfClasses are read back as what they were made of.
func TestNamesOfClasses(t *testing.T) {
	for i := range 1 << 4 {
		for _, version := range []schema.GroupVersion{{}, {Version: "v1"}, {Group: "autoscaling", Version: "v2"}, {Group: "a.example.com", Version: "v1beta1"}} {
			k := class{ignore: i&1 != 0, own: i&2 != 0, wide: i&4 != 0, labels: i&8 != 0, version: version}
			if got := classOf(k.name()); got == nil || *got != k {
				t.Errorf("%s is read as %+v", k.name(), got)
			}
		}
	}
	for _, name := range []string{"", "fail", "fails.rules.sallyport.io", "fail.rules.sallyport.org", "ignore-labels-wide.rules.sallyport.io"} {
		if got := classOf(name); got != nil {
			t.Errorf("%q is read as %+v", name, got)
		}
	}
}

// TestVersionsThatCannotBeAsked have no webhook, which is said, and the others are
// written all the same.
func TestVersionsThatCannotBeAsked(t *testing.T) {
	long := strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60) + ".example.com." + strings.Repeat("d", 40)
	for name, change := range map[string]func(*world){
		"a group whose name is too long for that of a webhook": func(w *world) {
			w.policies(t, clusterPolicy("x", about(long+"/v1/Widget, Secret")))
			w.api.lists = append(w.api.lists, list(long+"/v1", "widgets Widget"), list(long+"/v2", "widgets Widget"))
		},
		"webhooks that lead to a path of their own": func(w *world) {
			w.ship(t, func(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
				for i := range configuration.Webhooks {
					configuration.Webhooks[i].ClientConfig = leadsTo("/elsewhere")
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, clusterPolicy("x", about("example.com/v1/Widget, Secret")))
			w.follows(t)
			change(w)
			got := w.looks(t)
			if len(got) == 0 || !strings.HasPrefix(got[0], "fail CREATE UPDATE /secrets") {
				t.Errorf("%q", got)
			}
			condition := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"})
			if condition.Status != metav1.ConditionFalse || condition.Reason != "NotAsked" || !strings.Contains(condition.Message, "no webhook asks about what is written by another version than") {
				t.Errorf("%+v", condition)
			}
		})
	}
}

// TestWebhooksOfAVersionForBodies ask about each, as a Scale does not show that it came by
// another version.
func TestWebhooksOfAVersionForBodies(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("sized.example.com/v2/Widget/scale")))
	for _, version := range []string{"v1", "v2"} {
		w.api.lists = append(w.api.lists, list("sized.example.com/"+version, "widgets Widget", "widgets/scale Scale get,patch,update", "widgets/status Widget get,patch,update"))
	}
	w.follows(t)
	if got, want := w.looks(t), []string{"fail UPDATE sized.example.com/widgets/scale", "fail.v2.sized.example.com UPDATE sized.example.com/widgets/scale as v2"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if conditions := w.following(t)["fail.v2.sized.example.com"].MatchConditions; slices.Contains(conditions, onlyConverted) {
		t.Errorf("%+v", conditions)
	}
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "x"}); got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
}
