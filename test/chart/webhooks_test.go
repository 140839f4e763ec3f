package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// ca is that of the sets.
const ca = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"

// configured decodes both configurations of what was rendered, without labels.
func configured(t *testing.T, rendered string) (*admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration) {
	t.Helper()
	judges := one[admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered, "ValidatingWebhookConfiguration", "sallyport")
	changes := one[admissionregistrationv1.MutatingWebhookConfiguration](t, rendered, "MutatingWebhookConfiguration", "sallyport")
	judges.Labels, changes.Labels = nil, nil
	return judges, changes
}

// static renders a set whose webhooks are part of the release.
func static(t *testing.T, namespace, name string) string {
	t.Helper()
	values := "webhook: {follow: false}\n"
	if name == "minimal" {
		values += "tls: {existingSecret: {name: sallyport-tls, caBundle: \"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\"}}\n"
	}
	return render(t, namespace, set(name), file(t, values))
}

// fromWiring decodes the files of config/wiring.
func fromWiring(t *testing.T) (judges *admissionregistrationv1.ValidatingWebhookConfiguration, changes *admissionregistrationv1.MutatingWebhookConfiguration) {
	t.Helper()
	judges, changes = &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	for name, into := range map[string]any{"validatingwebhookconfiguration.yaml": judges, "mutatingwebhookconfiguration.yaml": changes} {
		content, err := os.ReadFile(filepath.Join(shipped, "wiring", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(content, into); err != nil {
			t.Fatal(err)
		}
	}
	return judges, changes
}

// TestWebhooksAreThoseOfWiring: by the least values, in the namespace of the files, they
// are the same, with a CA.
func TestWebhooksAreThoseOfWiring(t *testing.T) {
	wantJudges, wantChanges := fromWiring(t)
	for i := range wantJudges.Webhooks {
		wantJudges.Webhooks[i].ClientConfig.CABundle = []byte(ca)
	}
	for i := range wantChanges.Webhooks {
		wantChanges.Webhooks[i].ClientConfig.CABundle = []byte(ca)
	}
	judges, changes := configured(t, static(t, own, "minimal"))
	if diff := cmp.Diff(wantJudges, judges); diff != "" {
		t.Errorf("validating (-config/wiring +chart):\n%s", diff)
	}
	if diff := cmp.Diff(wantChanges, changes); diff != "" {
		t.Errorf("mutating (-config/wiring +chart):\n%s", diff)
	}
}

// TestWebhooksLead to the Service of the release at its port, and trust the CA or have
// cert-manager fill it in.
func TestWebhooksLead(t *testing.T) {
	for name, port := range map[string]int32{"minimal": 443, "ha": 443, "managed": 443, "observe": 443, "everything": 8443} {
		judges, changes := configured(t, static(t, guard, name))
		injected := name == "ha"
		check := func(of, path string, c admissionregistrationv1.WebhookClientConfig) {
			t.Helper()
			want := admissionregistrationv1.ServiceReference{Namespace: guard, Name: "sallyport", Port: &port, Path: &path}
			if c.URL != nil || !cmp.Equal(want, *c.Service) || injected != (len(c.CABundle) == 0) {
				t.Errorf("%s: %s leads to %+v", name, of, c)
			}
		}
		for _, w := range judges.Webhooks {
			check(w.Name, prefix(name, w.Name, false)+"/validate", w.ClientConfig)
		}
		for _, w := range changes.Webhooks {
			check(w.Name, prefix(name, w.Name, true)+"/mutate", w.ClientConfig)
		}
		for _, annotations := range []map[string]string{judges.Annotations, changes.Annotations} {
			if want := map[bool]string{true: guard + "/sallyport"}[injected]; annotations["cert-manager.io/inject-ca-from"] != want {
				t.Errorf("%s: the annotations are %v", name, annotations)
			}
			if want := map[bool]string{true: "platform"}[name == "everything"]; annotations["example.com/owner"] != want {
				t.Errorf("%s: the annotations are %v", name, annotations)
			}
		}
	}
}

// keeps reports whether a webhook refuses what could not be judged, whatever values say:
// those about Sallyport's own kinds, and the one about marks that are written by themselves.
// The one of the same name that marks templates is asked about each of them.
func keeps(webhook string, mutates bool) bool {
	return slices.Contains([]string{"policies.sallyport.io", "exceptions.sallyport.io", "sessions.sallyport.io", "definitions.sallyport.io"}, webhook) || webhook == "templates.sallyport.io" && !mutates
}

// prefix is what stands before the path of a webhook.
func prefix(set, webhook string, mutates bool) string {
	if set == "observe" && !keeps(webhook, mutates) {
		return "/ignore"
	}
	return ""
}

// TestIgnore: what could not be judged is let in, by the paths that are for it, except for
// what is written of Sallyport's own kinds.
func TestIgnore(t *testing.T) {
	judges, changes := configured(t, static(t, guard, "observe"))
	met := 0
	check := func(name string, mutates bool, policy *admissionregistrationv1.FailurePolicyType, timeout *int32) {
		t.Helper()
		about := keeps(name, mutates)
		if about {
			met++
		}
		if ignores := *policy == admissionregistrationv1.Ignore; ignores == about {
			t.Errorf("%s has %s", name, *policy)
		}
		if (*timeout == 2) == about {
			t.Errorf("%s waits %d seconds", name, *timeout)
		}
	}
	for _, w := range judges.Webhooks {
		check(w.Name, false, w.FailurePolicy, w.TimeoutSeconds)
	}
	for _, w := range changes.Webhooks {
		check(w.Name, true, w.FailurePolicy, w.TimeoutSeconds)
	}
	if met != 7 {
		t.Errorf("%d webhooks about our own kinds, and marks, were met", met)
	}
}

// TestLeftOut: the namespaces that values name, and the release's own, are left out as the
// leader takes them over into what follows policies.
func TestLeftOut(t *testing.T) {
	judges, changes := configured(t, static(t, guard, "everything"))
	fileJudges, fileChanges := fromWiring(t)
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{guard, "sandbox"},
	}}}
	narrowed := 0
	check := func(name string, got, file *metav1.LabelSelector) {
		t.Helper()
		want := file
		if file != nil {
			want = selector
			narrowed++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for i, w := range judges.Webhooks {
		check(w.Name, w.NamespaceSelector, fileJudges.Webhooks[i].NamespaceSelector)
		if w.ObjectSelector != nil {
			t.Errorf("%s has an object selector", w.Name)
		}
	}
	for i, w := range changes.Webhooks {
		check(w.Name, w.NamespaceSelector, fileChanges.Webhooks[i].NamespaceSelector)
	}
	if narrowed < 9 {
		t.Errorf("only %d webhooks leave namespaces out", narrowed)
	}
	started := 0
	for i, w := range judges.Webhooks {
		for j, c := range w.MatchConditions {
			file := fileJudges.Webhooks[i].MatchConditions[j]
			file.Expression = strings.ReplaceAll(strings.ReplaceAll(file.Expression, "'"+wiring.Namespace+"'", "'"+guard+"'"), "['kube-system']", "['kube-system', 'network']")
			if diff := cmp.Diff(file, c); diff != "" {
				t.Errorf("%s (-want +got):\n%s", w.Name, diff)
			}
			if namespaces, is, err := wiring.LeavesPodsOut(c); err != nil {
				t.Error(err)
			} else if is {
				started++
				if !slices.Equal(namespaces, []string{"kube-system", "network"}) {
					t.Errorf("%s of %s names %v", c.Name, w.Name, namespaces)
				}
			}
		}
	}
	if started != 2 {
		t.Errorf("the leader knows %d of the conditions that say what Sallyport starts after, want 2", started)
	}
}

// TestPodKinds: what makes pods by the values is asked about like Deployments are, with its
// status where marks stand, and by no other webhook.
func TestPodKinds(t *testing.T) {
	judges, changes := configured(t, static(t, guard, "everything"))
	found := map[string][]string{}
	note := func(name string, rules []admissionregistrationv1.RuleWithOperations) {
		for _, r := range rules {
			if slices.Contains(r.APIGroups, "farms.example.com") || slices.Contains(r.APIGroups, "argoproj.io") {
				if !slices.Equal(r.APIVersions, []string{"*"}) {
					t.Errorf("%s asks about %v", name, r)
				}
				found[name] = append(found[name], r.APIGroups[0]+" "+strings.Join(r.Resources, ",")+toJSON(t, r.Operations))
			}
		}
	}
	for _, w := range judges.Webhooks {
		note("judges "+w.Name, w.Rules)
	}
	for _, w := range changes.Webhooks {
		note("changes "+w.Name, w.Rules)
	}
	written := []string{`argoproj.io rollouts["CREATE","UPDATE"]`, `farms.example.com farms,farmtemplates["CREATE","UPDATE"]`}
	want := map[string][]string{
		"judges pods.sallyport.io": written, "changes templates.sallyport.io": written,
		"judges templates.sallyport.io": {`argoproj.io rollouts/status["UPDATE"]`, `farms.example.com farms/status,farmtemplates/status["UPDATE"]`},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, args := deployed(t, set("everything")); !slices.Contains(args, "--controller-account=Rollout.argoproj.io=system:serviceaccount:argo:rollouts") {
		t.Errorf("the account that makes pods is not named: %q", args)
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestListsAreTheLeaders: the chart has no field webhooks in what the leader writes, not
// even an empty one, by which an upgrade would empty the list.
func TestListsAreTheLeaders(t *testing.T) {
	for name, want := range map[string]int{"minimal": 4, "ha": 4, "managed": 4, "everything": 4, "observe": 0} {
		found := 0
		for _, o := range objects(t, render(t, guard, set(name))) {
			if !strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
				continue
			}
			if _, has := o.Object["webhooks"]; !has {
				found++
			} else if name != "observe" {
				t.Errorf("%s: the %s %s has a list of webhooks", name, o.GetKind(), o.GetName())
			}
			injected := o.GetAnnotations()["cert-manager.io/inject-ca-from"] != ""
			if want := name == "ha" && o.GetName() == "sallyport"; injected != want {
				t.Errorf("%s: cert-manager writes into the %s %s: %v", name, o.GetKind(), o.GetName(), injected)
			}
		}
		if found != want {
			t.Errorf("%s: %d configurations for the leader, want %d", name, found, want)
		}
	}
}

// TestLeaderWritesTheSame: by the arguments of the chart the leader writes what would be part
// of the release otherwise.
func TestLeaderWritesTheSame(t *testing.T) {
	for _, name := range []string{"minimal", "ha", "managed", "everything"} {
		_, args := deployed(t, set(name))
		installed := wiring.Installed{Namespace: guard, Name: "sallyport", FailurePolicy: admissionregistrationv1.Fail}
		for _, arg := range args {
			flag, value, _ := strings.Cut(arg, "=")
			switch flag {
			case "--service":
				port, err := strconv.ParseInt(strings.TrimPrefix(value, guard+"/sallyport:"), 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				installed.Port = int32(port)
			case "--webhook-timeout":
				d, err := time.ParseDuration(value)
				if err != nil {
					t.Fatal(err)
				}
				installed.TimeoutSeconds = int32(d / time.Second)
			case "--webhook-start-namespaces":
				installed.Start = strings.Split(value, ",")
			case "--webhook-exclude-namespaces":
				installed.Exclude = strings.Split(value, ",")
			case "--webhook-pod-kinds":
				for kind := range strings.SplitSeq(value, ",") {
					installed.PodKinds = append(installed.PodKinds, apischema.ParseGroupResource(kind))
				}
			}
		}
		wantJudges, wantChanges := configured(t, static(t, guard, name))
		judges, changes, err := installed.Webhooks()
		if err != nil {
			t.Fatal(err)
		}
		for i := range wantJudges.Webhooks {
			w := &wantJudges.Webhooks[i]
			alike(&w.ClientConfig, &w.Rules, &w.NamespaceSelector, &w.ObjectSelector)
		}
		for i := range judges.Webhooks {
			w := &judges.Webhooks[i]
			alike(&w.ClientConfig, &w.Rules, &w.NamespaceSelector, &w.ObjectSelector)
		}
		for i := range wantChanges.Webhooks {
			w := &wantChanges.Webhooks[i]
			alike(&w.ClientConfig, &w.Rules, &w.NamespaceSelector, &w.ObjectSelector)
		}
		for i := range changes.Webhooks {
			w := &changes.Webhooks[i]
			alike(&w.ClientConfig, &w.Rules, &w.NamespaceSelector, &w.ObjectSelector)
		}
		if diff := cmp.Diff(wantJudges.Webhooks, judges.Webhooks); diff != "" {
			t.Errorf("%s: validating (-chart +leader):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantChanges.Webhooks, changes.Webhooks); diff != "" {
			t.Errorf("%s: mutating (-chart +leader):\n%s", name, diff)
		}
	}
}

// alike leaves out the CA, which is seen to elsewhere, fills in what an API server does, and
// takes rules apart by their resources.
func alike(leads *admissionregistrationv1.WebhookClientConfig, rules *[]admissionregistrationv1.RuleWithOperations, selectors ...**metav1.LabelSelector) {
	leads.CABundle = nil
	for _, s := range selectors {
		if *s == nil {
			*s = &metav1.LabelSelector{}
		}
	}
	var apart []admissionregistrationv1.RuleWithOperations
	for _, r := range *rules {
		for _, resource := range r.Resources {
			one := *r.DeepCopy()
			one.Resources = []string{resource}
			if one.Scope == nil {
				all := admissionregistrationv1.AllScopes
				one.Scope = &all
			}
			apart = append(apart, one)
		}
	}
	*rules = apart
}
