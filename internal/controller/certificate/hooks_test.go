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
