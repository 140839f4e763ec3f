package wiring

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// least is an installation that says no more than it has to.
func least() Installed {
	return Installed{Namespace: Namespace, Name: "sallyport", Port: 443, CABundle: []byte("CA"), FailurePolicy: admissionregistrationv1.Fail, TimeoutSeconds: DefaultTimeoutSeconds}
}

// TestInstalledIsWhatIsShipped: with the least said, both configurations are those of the
// files, with a CA and what an API server fills in.
func TestInstalledIsWhatIsShipped(t *testing.T) {
	i := least()
	judges, changes, err := i.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	var fileJudges admissionregistrationv1.ValidatingWebhookConfiguration
	var fileChanges admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(webhookConfiguration, &fileJudges); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(mutatingConfiguration, &fileChanges); err != nil {
		t.Fatal(err)
	}
	fill := func(c *admissionregistrationv1.WebhookClientConfig, selectors ...**metav1.LabelSelector) {
		c.CABundle = []byte("CA")
		for _, s := range selectors {
			if *s == nil {
				*s = &metav1.LabelSelector{}
			}
		}
	}
	for at := range fileJudges.Webhooks {
		w := &fileJudges.Webhooks[at]
		fill(&w.ClientConfig, &w.NamespaceSelector, &w.ObjectSelector)
	}
	for at := range fileChanges.Webhooks {
		w := &fileChanges.Webhooks[at]
		fill(&w.ClientConfig, &w.NamespaceSelector, &w.ObjectSelector)
	}
	if diff := cmp.Diff(&fileJudges, judges); diff != "" {
		t.Errorf("validating (-file +installed):\n%s", diff)
	}
	if diff := cmp.Diff(&fileChanges, changes); diff != "" {
		t.Errorf("mutating (-file +installed):\n%s", diff)
	}
}

// TestInstalledElsewhere: another namespace, more that starts first, kinds that make pods,
// and an address in place of a Service.
func TestInstalledElsewhere(t *testing.T) {
	i := least()
	i.Namespace, i.URL, i.Start, i.Exclude = "guard", "https://guard.example.com:8443", []string{"network"}, []string{"sandbox"}
	i.FailurePolicy, i.TimeoutSeconds = admissionregistrationv1.Ignore, 2
	i.PodKinds = []schema.GroupResource{{Group: "argoproj.io", Resource: "rollouts"}}
	judges, changes, err := i.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string][]string{}
	left, started := 0, 0
	check := func(w *admissionregistrationv1.MutatingWebhook, mutates bool) {
		t.Helper()
		path := strings.TrimPrefix(*w.ClientConfig.URL, i.URL)
		kept := keeps(w.Name, mutates)
		if want := map[bool]string{true: "/validate", false: "/ignore/validate"}[kept]; !mutates && path != want || w.ClientConfig.Service != nil {
			t.Errorf("%s leads to %s", w.Name, path)
		}
		if ignores := *w.FailurePolicy == admissionregistrationv1.Ignore; ignores == kept || (*w.TimeoutSeconds == 2) == kept {
			t.Errorf("%s: %s, %d s", w.Name, *w.FailurePolicy, *w.TimeoutSeconds)
		}
		if e := w.NamespaceSelector.MatchExpressions; len(e) > 0 {
			left++
			if !slices.Equal(e[0].Values, []string{"guard", "sandbox"}) {
				t.Errorf("%s leaves out %v", w.Name, e[0].Values)
			}
		}
		for _, c := range w.MatchConditions {
			if strings.Contains(c.Expression, "'sallyport-system'") {
				t.Errorf("%s speaks of another namespace: %s", w.Name, c.Expression)
			}
			if namespaces, is, _ := LeavesPodsOut(c); is && slices.Equal(namespaces, []string{"kube-system", "network"}) {
				started++
			}
		}
		for _, r := range w.Rules {
			if slices.Contains(r.APIGroups, "argoproj.io") {
				asked[w.Name] = append(asked[w.Name], r.Resources[0])
			}
		}
	}
	for _, w := range judges.Webhooks {
		check(&admissionregistrationv1.MutatingWebhook{Name: w.Name, ClientConfig: w.ClientConfig, FailurePolicy: w.FailurePolicy, TimeoutSeconds: w.TimeoutSeconds, NamespaceSelector: w.NamespaceSelector, MatchConditions: w.MatchConditions, Rules: w.Rules}, false)
	}
	for at := range changes.Webhooks {
		check(&changes.Webhooks[at], true)
	}
	if want := map[string][]string{"pods.sallyport.io": {"rollouts"}, "templates.sallyport.io": {"rollouts/status", "rollouts"}}; !cmp.Equal(want, asked) {
		t.Error(cmp.Diff(want, asked))
	}
	if left < 9 || started != 2 {
		t.Errorf("%d webhooks leave namespaces out, %d conditions name what starts first", left, started)
	}
}
