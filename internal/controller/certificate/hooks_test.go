package certificate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

func (w *world) judging() *admissionregistrationv1.ValidatingWebhookConfiguration {
	w.Helper()
	found, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), "sallyport", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	found = found.DeepCopy()
	found.ManagedFields = nil
	return found
}

func (w *world) edit(edit func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	w.Helper()
	c := w.judging()
	edit(c)
	if _, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(w.Context(), c, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// TestOnlyCABundles writes caBundles of webhooks that lead here, and nothing else.
func TestOnlyCABundles(t *testing.T) {
	w := newWorld(t, 1)
	w.wire([]byte("theirs"))
	before := w.judging()
	w.settle()
	after := w.judging()
	bundle, err := w.replicas[0].Bundle(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range after.Webhooks {
		if i == 1 {
			continue
		}
		if string(after.Webhooks[i].ClientConfig.CABundle) != string(bundle) {
			t.Errorf("%s trusts %q", after.Webhooks[i].Name, after.Webhooks[i].ClientConfig.CABundle)
		}
		after.Webhooks[i].ClientConfig.CABundle = []byte("theirs")
	}
	after.ResourceVersion = before.ResourceVersion
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("other things were written (-before +after):\n%s", diff)
	}
	// What was taken out comes back, and what was deleted does not.
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[2].ClientConfig.CABundle = nil
	})
	w.settle()
	if string(w.judging().Webhooks[2].ClientConfig.CABundle) != string(bundle) {
		t.Error("a caBundle that was taken out stays out")
	}
	if err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "sallyport", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if _, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was deleted is there again: %v", err)
	}
}

// TestChangedInBetween writes into no webhook that has become another since it was read.
func TestChangedInBetween(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	all := w.hooks()
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks = c.Webhooks[1:] })
	before := w.judging()
	cas, err := selfsigned.Certificates(w.foreign("a").CA)
	if err != nil {
		t.Fatal(err)
	}
	if written, again, err := w.replicas[0].put(t.Context(), all, cas, false); written != 1 || !again || err != nil {
		t.Errorf("%d were written, again %v, error %v", written, again, err)
	}
	if diff := cmp.Diff(before, w.judging()); diff != "" {
		t.Errorf("it was written: %s", diff)
	}
}

// TestInjected leaves alone what another program fills in, and says so.
func TestInjected(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(nil)
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "a/b"}
	})
	before := w.judging()
	w.settle()
	if diff := cmp.Diff(before, w.judging()); diff != "" {
		t.Errorf("it was written: %s", diff)
	}
	if said := w.replicas[0].said(); !strings.Contains(said, "another program fills in the caBundle") || !strings.Contains(said, "pods.sallyport.io") {
		t.Errorf("it says %q", said)
	}
}

// TestForbidden says which right is missing.
func TestForbidden(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(nil)
	restored := w.failing("patch", "validatingwebhookconfigurations", apierrors.NewForbidden(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "sallyport", errors.New("patch")))
	w.settle()
	if said := w.replicas[0].said(); !strings.Contains(said, "forbidden") || w.replicas[0].failures == 0 {
		t.Errorf("it says %q", said)
	}
	restored()
	w.settle()
	if said := w.replicas[0].said(); said != "" {
		t.Errorf("it still says %q", said)
	}
}

// TestPlace knows the webhooks that lead here by the Service or the host, each with its port.
func TestPlace(t *testing.T) {
	service := func(namespace, name string, port *int32) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: port}}
	}
	address := func(url string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: &url}
	}
	host := Place{Host: "guard.example.com", Port: 8443}
	for _, c := range []struct {
		place  Place
		client admissionregistrationv1.WebhookClientConfig
		want   bool
	}{
		{place, service("sallyport-system", "sallyport", nil), true},
		{place, service("sallyport-system", "sallyport", new(int32(443))), true},
		{place, service("sallyport-system", "sallyport", new(int32(8443))), false},
		{place, service("sallyport-system", "other", nil), false},
		{place, service("other", "sallyport", nil), false},
		{place, address("https://sallyport.sallyport-system.svc/validate"), false},
		{host, address("https://guard.example.com:8443/validate"), true},
		{host, address("https://guard.example.com/validate"), false},
		{Place{Host: "guard.example.com", Port: 443}, address("https://guard.example.com/validate"), true},
		{host, address("https://else.example.com:8443/validate"), false},
		{host, address("%"), false},
		{host, service("", "", nil), false},
	} {
		if got := c.place.leads(&c.client); got != c.want {
			t.Errorf("%s, %+v: %v", c.place, c.client, got)
		}
	}
}

// TestInjectedIntoTheOneItFollows leaves alone the webhooks that another controller keeps
// to what a program fills into the shipped ones.
func TestInjectedIntoTheOneItFollows(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(nil)
	ctx, api := t.Context(), w.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	shipped := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport", Annotations: map[string]string{"cert-manager.io/inject-ca-from": "a/b"}}}
	if _, err := api.Create(ctx, shipped, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	follows, err := api.Get(ctx, "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(follows.Webhooks[0].ClientConfig.CABundle) > 0 || len(w.judging().Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Error("it was written, or that of the other kind was not")
	}
}

// TestPinnedCertificate is trusted by API servers though it is not a CA's, and stays while
// somebody may show it.
func TestPinnedCertificate(t *testing.T) {
	w := newWorld(t, 2)
	pair := w.foreign(place.Names()...)
	pin := pair.Cert[:len(pair.Cert)-len(pair.CA)]
	w.wire(pin)
	w.replicas[1].says = new("")
	for range 3 {
		w.look(0)
		w.clock.Step(lives.Overlap)
	}
	for _, h := range w.hooks() {
		if len(h.cas) != 2 {
			t.Errorf("%s trusts %d certificates", h.String(), len(h.cas))
		}
	}
}

// TestLostRace is not a failure, and hides none.
func TestLostRace(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	all := w.hooks()
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks = c.Webhooks[1:] })
	cas, err := selfsigned.Certificates(w.foreign("a").CA)
	if err != nil {
		t.Fatal(err)
	}
	w.failing("patch", "mutatingwebhookconfigurations", errForbidden)
	if _, again, err := w.replicas[0].put(t.Context(), all, cas, false); !again || !apierrors.IsForbidden(errors.Unwrap(err)) && !strings.Contains(err.Error(), "no rights") {
		t.Errorf("again %v, error %v", again, err)
	}
}

// TestLeadsNoMore takes nothing out of caBundles once another replica leads, though it led
// when it began to look.
func TestLeadsNoMore(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	other, err := selfsigned.Certificates(w.foreign("a").CA)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.replicas[0].put(t.Context(), w.hooks(), other, true); err != nil {
		t.Fatal(err)
	}
	asked := 0
	w.replicas[0].Leads = func() bool {
		asked++
		return asked == 1
	}
	w.look(0)
	if got := len(w.hooks().trusted()); asked < 2 || got != 2 {
		t.Errorf("webhooks trust %d certificates", got)
	}
	w.replicas[0].Leads = func() bool { return true }
	w.look(0)
	if got := len(w.hooks().trusted()); got != 1 {
		t.Errorf("webhooks trust %d certificates", got)
	}
}

// TestShownIsTrustedEverywhere spreads what some replica shows, and only some webhook
// trusts, to the others.
func TestShownIsTrustedEverywhere(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	other, err := selfsigned.Certificates(w.foreign("a").CA)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.replicas[0].put(t.Context(), w.hooks()[:1], other, true); err != nil {
		t.Fatal(err)
	}
	w.replicas[1].says = new(fingerprint(other[0]))
	w.look(0)
	if lack := w.hooks().lack(other[0]); len(lack) > 0 {
		t.Errorf("%q do not trust it", lack)
	}
}
