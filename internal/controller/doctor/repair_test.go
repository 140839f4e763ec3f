package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
)

// broken is a world in which webhooks get no answer, with configurations of others
// beside.
func broken(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.canary = errors.New("failed calling webhook")
	other := admissionregistrationv1.ValidatingWebhook{Name: "a.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://elsewhere/validate")}}
	same := *w.judges.Webhooks[0].DeepCopy()
	same.Name = "autoscalers.example.com"
	w.judges.Webhooks = append(w.judges.Webhooks, same)
	w.objects = append(w.objects,
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport-policy-server-mine", Labels: map[string]string{"app.kubernetes.io/managed-by": "sallyport"}}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "x.y.z", ClientConfig: other.ClientConfig}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport-policy-server-theirs"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{other}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "another"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{other}},
	)
	w.changes.Webhooks = append(w.changes.Webhooks, admissionregistrationv1.MutatingWebhook{Name: other.Name, ClientConfig: other.ClientConfig})
	return w
}

// TestIgnore lets in what cannot be judged, by our own webhooks and nothing else.
func TestIgnore(t *testing.T) {
	o := broken(t).made(t)
	plan, err := Plan(t.Context(), o, ToIgnore)
	must(t, err)
	var names []string
	for _, s := range plan.Steps {
		names = append(names, s.Object)
	}
	if want := []string{"ValidatingWebhookConfiguration sallyport", "ValidatingWebhookConfiguration sallyport-policy-server-mine", "MutatingWebhookConfiguration sallyport"}; !slices.Equal(names, want) || plan.Answers {
		t.Fatalf("%q, want %q", names, want)
	}
	if want := []string{"MutatingWebhookConfiguration sallyport: webhook a.example.com, which is not Sallyport's"}; !slices.Equal(plan.Left, want) {
		t.Errorf("left alone: %q", plan.Left)
	}
	hooks := o.API.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	get := func(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		t.Helper()
		c, err := hooks.Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		return c
	}
	if *get("sallyport").Webhooks[0].FailurePolicy != admissionregistrationv1.Fail {
		t.Fatal("a plan changes something")
	}
	undo, err := plan.Undo()
	must(t, err)
	for _, says := range []string{"kind: ValidatingWebhookConfiguration", "name: autoscalers.example.com", "path: /validate\n", "failurePolicy: Fail", "---\n"} {
		if !strings.Contains(string(undo), says) {
			t.Errorf("what puts it back lacks %q", says)
		}
	}
	if strings.Contains(string(undo), "resourceVersion") || strings.Contains(string(undo), "/ignore") {
		t.Errorf("what puts it back is not what was written:\n%s", undo)
	}
	done := 0
	must(t, plan.Do(t.Context(), func(*Step) { done++ }))
	if done != len(plan.Steps) {
		t.Errorf("%d of %d steps", done, len(plan.Steps))
	}
	for _, w := range get("sallyport").Webhooks {
		open := *w.FailurePolicy == admissionregistrationv1.Ignore && *w.ClientConfig.Service.Path == "/ignore/validate"
		if open == webhooks.OwnKinds(w.Name) {
			t.Errorf("%s: %s %s", w.Name, *w.FailurePolicy, *w.ClientConfig.Service.Path)
		}
	}
	if url := *get("sallyport-policy-server-mine").Webhooks[0].ClientConfig.URL; url != "https://elsewhere/ignore/validate" {
		t.Error(url)
	}
	for _, name := range []string{"sallyport-policy-server-theirs", "another"} {
		if w := get(name).Webhooks[0]; w.FailurePolicy != nil || *w.ClientConfig.URL != "https://elsewhere/validate" {
			t.Errorf("%s of others was changed", name)
		}
	}
	again, err := Plan(t.Context(), o, ToIgnore)
	if err != nil || len(again.Steps) > 0 {
		t.Errorf("there is more to do: %+v %v", again, err)
	}
}

// TestDelete takes our webhooks away, and none in which others' are.
func TestDelete(t *testing.T) {
	o := broken(t).made(t)
	plan, err := Plan(t.Context(), o, ToDelete)
	must(t, err)
	must(t, plan.Do(t.Context(), func(*Step) {}))
	api := o.API.AdmissionregistrationV1()
	for name, stays := range map[string]bool{"sallyport": false, "sallyport-rules": false, "sallyport-policy-server-mine": false, "sallyport-policy-server-theirs": true, "another": true} {
		if _, err := api.ValidatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{}); apierrors.IsNotFound(err) == stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := api.MutatingWebhookConfigurations().Get(t.Context(), "sallyport", metav1.GetOptions{}); err != nil {
		t.Errorf("what others' webhooks are in is gone: %v", err)
	}
}

// TestAnswering leaves alone what works.
func TestAnswering(t *testing.T) {
	w := newWorld(t)
	plan, err := Plan(t.Context(), w.made(t), ToIgnore)
	if err != nil || !plan.Answers {
		t.Errorf("%+v %v", plan, err)
	}
	w = newWorld(t)
	w.judges.Webhooks[0].ClientConfig.Service.Name = "gone"
	if plan, err = Plan(t.Context(), w.made(t), ToIgnore); err != nil || plan.Answers {
		t.Errorf("one webhook leads elsewhere: %+v %v", plan, err)
	}
}
