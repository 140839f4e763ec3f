package shipped

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// world is a cluster with both configurations, installed without webhooks.
type world struct {
	*Keeper
	client *fake.Clientset
	clock  *clocktesting.FakePassiveClock
	// reached is what a canary finds, and sent how many there were.
	reached bool
	sent    int
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)), client: fake.NewClientset(
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}},
	)}
	o := Options{
		Client: w.client, Name: "sallyport", CA: func() ([]byte, error) { return []byte("CA"), nil },
		Installed: wiring.Installed{Namespace: "guard", Name: "sallyport", Port: 443, FailurePolicy: admissionregistrationv1.Fail, TimeoutSeconds: 5},
		Canary:    func(context.Context) bool { w.sent++; return w.reached }, Clock: w.clock, Log: logr.Discard(),
	}
	if change != nil {
		change(&o)
	}
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Keeper = k
	return w
}

// keeps has the webhooks kept until there is nothing to wait for, and reports whether all are
// there.
func (w *world) keeps(t *testing.T) bool {
	t.Helper()
	for {
		standing, err := w.Keep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		complete := standing.Complete == [2]bool{true, true}
		if complete != (len(w.Warnings()) == 0) && len(w.Warnings()) == 0 {
			t.Errorf("%+v, and nothing is said", standing)
		}
		if !standing.Soon {
			return complete
		}
		w.clock.SetTime(w.clock.Now().Add(settles))
	}
}

// live are the webhooks that judge, and those that change.
func (w *world) live(t *testing.T) (judging, changing []admissionregistrationv1.MutatingWebhook) {
	t.Helper()
	api := w.client.AdmissionregistrationV1()
	judges, err := api.ValidatingWebhookConfigurations().Get(t.Context(), "sallyport", metav1.GetOptions{})
	changes, also := api.MutatingWebhookConfigurations().Get(t.Context(), "sallyport", metav1.GetOptions{})
	if err := errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
	return asChanging(judges.Webhooks), changes.Webhooks
}

// write puts webhooks that judge in place of those that are there.
func (w *world) write(t *testing.T, judging []admissionregistrationv1.MutatingWebhook) {
	t.Helper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}, Webhooks: asJudging(judging)}
	if _, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), config, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func names(webhooks []admissionregistrationv1.MutatingWebhook) []string {
	var all []string
	for i := range webhooks {
		all = append(all, webhooks[i].Name)
	}
	return all
}

var ownKinds = []string{"definitions.sallyport.io", "exceptions.sallyport.io", "policies.sallyport.io", "sessions.sallyport.io"}

// TestOnlyOwnKindsUntilAnswered: nothing that would stop the cluster is there before
// webhooks are seen to be answered; then all is, and it stays when they no longer are.
func TestOnlyOwnKindsUntilAnswered(t *testing.T) {
	w := newWorld(t, nil)
	for range 2 {
		if w.keeps(t) {
			t.Error("complete before webhooks are answered")
		}
		judging, changing := w.live(t)
		if got := slices.Sorted(slices.Values(names(judging))); !slices.Equal(got, ownKinds) {
			t.Errorf("before webhooks are answered there are %q", got)
		}
		if got := names(changing); !slices.Equal(got, []string{"exceptions.sallyport.io", "sessions.sallyport.io"}) {
			t.Errorf("before webhooks are answered there are %q", got)
		}
	}
	w.reached = true
	if !w.keeps(t) {
		t.Error("not complete")
	}
	full, fullChanging := w.live(t)
	if len(full) < 15 || len(fullChanging) != 3 || !slices.Contains(names(full), "pods.sallyport.io") {
		t.Errorf("%q %q", names(full), names(fullChanging))
	}
	for i := range full {
		if string(full[i].ClientConfig.CABundle) != "CA" || full[i].ClientConfig.Service.Namespace != "guard" {
			t.Errorf("%s leads to %+v", full[i].Name, full[i].ClientConfig)
		}
	}
	w.reached = false
	w.client.ClearActions()
	if !w.keeps(t) {
		t.Error("what is all there is not complete when Sallyport is not reached for a while")
	}
	for _, a := range w.client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s without need", a.GetVerb())
		}
	}
}

// TestPutRight: what somebody takes out or changes is put right, and what is not ours stays.
func TestPutRight(t *testing.T) {
	w := newWorld(t, nil)
	w.reached = true
	w.keeps(t)
	want, _ := w.live(t)
	other := admissionregistrationv1.MutatingWebhook{Name: "autoscalers.example.com"}
	past := admissionregistrationv1.MutatingWebhook{Name: "past.sallyport.io"}
	changed := slices.Clone(want)
	changed[1].Rules = nil
	changed = append(slices.Delete(changed, 3, 5), other, past)
	w.write(t, changed)

	// Somebody has taken them out, and nobody knows whether they would be answered.
	w.reached = false
	if w.keeps(t) {
		t.Error("complete, with webhooks missing")
	}
	got, _ := w.live(t)
	if len(got) != len(want) || len(got[1].Rules) != 0 {
		t.Errorf("while Sallyport is not reached: %q", names(got))
	}
	w.reached = true
	if !w.keeps(t) {
		t.Error("not complete")
	}
	got, _ = w.live(t)
	if diff := cmp.Diff(append(slices.Clone(want), other), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLoosensAtOnce: to let in what cannot be judged waits for nothing, to refuse it does.
func TestLoosensAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.reached = true
	w.keeps(t)
	w.reached = false
	loose := newWorld(t, func(o *Options) { o.Installed.FailurePolicy = admissionregistrationv1.Ignore })
	loose.doors[0].api, loose.doors[1].api, loose.client = judging{w.client}, changing{w.client}, w.client
	if !loose.keeps(t) {
		t.Error("not complete")
	}
	policies := func(want admissionregistrationv1.FailurePolicyType) {
		t.Helper()
		judging, _ := w.live(t)
		for i := range judging {
			kept := wiring.Own(judging[i].Name) || judging[i].Name == "templates.sallyport.io"
			if *judging[i].FailurePolicy != want && !kept {
				t.Errorf("%s has %s, want %s", judging[i].Name, *judging[i].FailurePolicy, want)
			}
		}
	}
	policies(admissionregistrationv1.Ignore)
	if w.keeps(t) {
		t.Error("complete, with webhooks that let in")
	}
	policies(admissionregistrationv1.Ignore)
	w.reached = true
	w.keeps(t)
	policies(admissionregistrationv1.Fail)
}

// TestUninstalled: what was taken away is not made again, not even where it goes in between.
func TestUninstalled(t *testing.T) {
	w := newWorld(t, nil)
	w.reached = true
	gone := apierrors.NewNotFound(schema.GroupResource{}, "sallyport")
	w.client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, gone })
	w.keeps(t)
	api := w.client.AdmissionregistrationV1()
	if err := errors.Join(api.ValidatingWebhookConfigurations().Delete(t.Context(), "sallyport", metav1.DeleteOptions{}), api.MutatingWebhookConfigurations().Delete(t.Context(), "sallyport", metav1.DeleteOptions{})); err != nil {
		t.Fatal(err)
	}
	w.client.ClearActions()
	w.keeps(t)
	for _, a := range w.client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s of what was taken away", a.GetVerb())
		}
	}
	if said := strings.Join(w.Warnings(), "\n"); strings.Count(said, "it is not installed") != 2 {
		t.Errorf("what is said: %s", said)
	}
	if w.Forget(); len(w.Warnings()) > 0 {
		t.Error("something is said of what another replica keeps")
	}
}

// TestOneOfTwo: where one configuration is not installed, the other is kept all the same.
func TestOneOfTwo(t *testing.T) {
	w := newWorld(t, nil)
	w.reached = true
	if err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "sallyport", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.keeps(t)
	judges, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport", metav1.GetOptions{})
	if err != nil || len(judges.Webhooks) < 15 {
		t.Errorf("%d webhooks, %v", len(judges.Webhooks), err)
	}
}

// TestCanaryIsOfWhatIsThere: what a canary found before the webhooks led where they lead now,
// or before API servers can have heard of them, does not count.
func TestCanaryIsOfWhatIsThere(t *testing.T) {
	w := newWorld(t, nil)
	w.reached = true
	w.keeps(t)
	sent := w.sent
	// Another version of the installation leads elsewhere, where nobody answers.
	moved := newWorld(t, func(o *Options) { o.Installed.Port = 8443 })
	moved.doors[0].api, moved.doors[1].api, moved.client, moved.clock = judging{w.client}, changing{w.client}, w.client, w.clock
	moved.Clock = w.clock
	if moved.keeps(t) {
		t.Error("complete, where nobody answers")
	}
	if moved.sent != 1 || w.sent != sent {
		t.Errorf("%d canaries", moved.sent)
	}
	judging, _ := moved.live(t)
	for i := range judging {
		port := *judging[i].ClientConfig.Service.Port
		if own := wiring.Own(judging[i].Name); own != (port == 8443) {
			t.Errorf("%s leads to port %d", judging[i].Name, port)
		}
	}
	// The first time that they are seen it is too early to ask.
	again := newWorld(t, nil)
	again.reached = true
	if standing, err := again.Keep(t.Context()); err != nil || !standing.Soon || again.sent > 0 {
		t.Errorf("%+v %v, %d canaries", standing, err, again.sent)
	}
	again.clock.SetTime(again.clock.Now().Add(settles - time.Millisecond))
	if standing, err := again.Keep(t.Context()); err != nil || !standing.Soon || again.sent > 0 {
		t.Errorf("%+v %v, %d canaries", standing, err, again.sent)
	}
}

// TestCA: nothing is written before it is known what webhooks are to trust; what another
// program fills in stays, and is what further webhooks trust.
func TestCA(t *testing.T) {
	var ca []byte
	var failed error
	w := newWorld(t, func(o *Options) { o.CA = func() ([]byte, error) { return ca, failed } })
	w.reached = true
	failed = errors.New("no such file")
	if _, err := w.Keep(context.Background()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	failed = nil
	standing, err := w.Keep(t.Context())
	if judging, _ := w.live(t); err != nil || standing != (Standing{Soon: true}) || len(judging) > 0 {
		t.Errorf("%+v %v, %q without a CA", standing, err, names(judging))
	}

	injected := newWorld(t, func(o *Options) { o.CA = nil })
	injected.keeps(t)
	judging, _ := injected.live(t)
	for i := range judging {
		judging[i].ClientConfig.CABundle = []byte("injected")
	}
	injected.write(t, judging)
	injected.reached = true
	injected.keeps(t)
	judging, _ = injected.live(t)
	for i := range judging {
		if string(judging[i].ClientConfig.CABundle) != "injected" {
			t.Errorf("%s trusts %q", judging[i].Name, judging[i].ClientConfig.CABundle)
		}
	}
}

// TestConflict: what was changed in between is not overwritten.
func TestConflict(t *testing.T) {
	w := newWorld(t, nil)
	w.client.PrependReactor("update", "validatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "sallyport", errors.New("changed"))
	})
	if _, err := w.Keep(t.Context()); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "ValidatingWebhookConfiguration sallyport") {
		t.Errorf("%v", err)
	}
}
