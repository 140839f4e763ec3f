package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

var errAPI = errors.New("the API server is away")

// api is an API server that has these resources.
type api struct {
	discovery.ServerResourcesInterfaceWithContext
	lists []*metav1.APIResourceList
	err   error
	// hangs is set for one that does not answer.
	hangs bool
}

func (a *api) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	if a.hangs {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	return nil, a.lists, a.err
}

// clusterWide are the kinds that are in no namespace.
var clusterWide = []string{"Namespace", "ClusterRole", "ValidatingWebhookConfiguration", "CertificateSigningRequest", "SubjectAccessReview"}

// list is a version of a group with resources, each as NAME KIND VERBS.
func list(version string, resources ...string) *metav1.APIResourceList {
	l := &metav1.APIResourceList{GroupVersion: version}
	for _, text := range resources {
		fields := strings.Fields(text)
		verbs := []string{"create", "delete", "get", "list", "patch", "update", "watch"}
		if len(fields) > 2 {
			verbs = strings.Split(fields[2], ",")
		}
		l.APIResources = append(l.APIResources, metav1.APIResource{Name: fields[0], Kind: fields[1], Verbs: verbs, Namespaced: !slices.Contains(clusterWide, fields[1])})
	}
	return l
}

func resources() []*metav1.APIResourceList {
	return []*metav1.APIResourceList{
		list("v1", "pods Pod", "pods/status Pod get,patch,update", "pods/exec PodExecOptions create,get", "pods/log Pod get",
			"services Service", "services/status Service get,patch,update", "events Event", "namespaces Namespace", "secrets Secret"),
		list("apps/v1", "deployments Deployment", "deployments/scale Scale get,patch,update", "deployments/status Deployment get,patch,update"),
		list("autoscaling/v2", "horizontalpodautoscalers HorizontalPodAutoscaler"),
		list("autoscaling/v1", "horizontalpodautoscalers HorizontalPodAutoscaler"),
		list("coordination.k8s.io/v1", "leases Lease"),
		list("events.k8s.io/v1", "events Event"),
		list("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations ValidatingWebhookConfiguration"),
		list("example.com/v1", "widgets Widget"),
		list("example.com/v1beta1", "widgets Widget", "gadgets Gadget"),
	}
}

// world is a Controller that leads, beside an API server.
type world struct {
	*Controller
	api      *api
	client   *fake.Clientset
	set      *policy.Set
	clock    *clocktesting.FakeClock
	leads    bool
	written  int
	retold   int
	applyErr error
}

func newWorld(t *testing.T, policies ...string) *world {
	t.Helper()
	w := &world{api: &api{lists: resources()}, leads: true, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))}
	w.client = fake.NewClientset(shippedConfiguration(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "exceptions.sallyport.io", ClientConfig: leadsTo("/mutate")}, {Name: "templates.sallyport.io", ClientConfig: leadsTo("/mutate"), NamespaceSelector: notOwn()}},
	})
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		w.client.PrependReactor("patch", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			if w.applyErr != nil {
				return true, nil, w.applyErr
			}
			w.written++
			return false, nil, nil
		})
	}
	w.policies(t, policies...)
	w.Controller = New(Options{
		Client: w.client, Discovery: w.api, Set: func() *policy.Set { return w.set }, Synced: func() bool { return true },
		Here: func(*runner.Policy) bool { return true }, Leads: func() bool { return w.leads }, Name: "sallyport",
		Changed: func([]stored.Ref) { w.retold++ }, Clock: w.clock, Log: logr.Discard(),
	})
	return w
}

// policies puts others in force.
func (w *world) policies(t *testing.T, documents ...string) {
	t.Helper()
	var sources policy.Sources
	for _, document := range documents {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if problems := sources.Add(schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind), raw, ""); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	w.set = set
}

// follows installs the configurations that follow policies.
func (w *world) follows(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "sallyport-rules"}
	api := w.client.AdmissionregistrationV1()
	_, err := api.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}, metav1.CreateOptions{})
	_, also := api.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}, metav1.CreateOptions{})
	if err := errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
}

// looks looks once and returns what the webhooks ask about, a line each.
func (w *world) looks(t *testing.T) []string {
	t.Helper()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.asks(t)
}

func (w *world) asks(t *testing.T) []string {
	t.Helper()
	v, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(context.WithoutCancel(t.Context()), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(context.WithoutCancel(t.Context()), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, h := range append(validating(v), mutating(m)...) {
		for _, r := range h.rules {
			line := strings.TrimSuffix(h.name, suffix)
			if h.mutates {
				line = "mutating " + line
			}
			for _, o := range r.Operations {
				line += " " + string(o)
			}
			line += " " + r.APIGroups[0] + "/" + strings.Join(r.Resources, ",")
			if !slices.Equal(r.APIVersions, []string{"*"}) {
				line += " as " + strings.Join(r.APIVersions, ",")
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *world) condition(t *testing.T, ref stored.Ref) metav1.Condition {
	t.Helper()
	c, ok := w.Asked(ref, w.Set().VersionOf(ref))
	if !ok || c.Type != v1alpha1.ConditionEnforced {
		t.Fatalf("nothing is said of %+v", ref)
	}
	return c
}

func leadsTo(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "sallyport-system", Name: "sallyport", Path: &path}, CABundle: []byte("ca")}
}

func notOwn() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"sallyport-system"}}}}
}

func podsLeftOut() []admissionregistrationv1.MatchCondition {
	conditions, err := wiring.PodsLeftOut()
	if err != nil {
		panic(err)
	}
	return conditions
}

// shipped asks about pods and deployments, and about services where labels change.
func shippedConfiguration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	rule := func(group string, names ...string) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: names},
		}}
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "pods.sallyport.io", ClientConfig: leadsTo("/validate"), NamespaceSelector: notOwn(), Rules: append(rule("", "pods"), rule("apps", "deployments")...),
			MatchConditions: podsLeftOut()},
		{Name: "services.sallyport.io", ClientConfig: leadsTo("/validate"), Rules: rule("", "services"),
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "labels-change", Expression: "true"}}},
	}}
}

func clusterPolicy(name, spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

// about is a rule about kinds.
func about(kinds string, more ...string) string {
	return `{` + strings.Join(append(more, `rules: [{name: r, match: {any: [{resources: {kinds: [`+kinds+`]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]`), ", ") + `}`
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func cancelled(t *testing.T) (context.Context, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	return ctx, cancel
}
