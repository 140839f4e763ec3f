package certificate

import (
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "sallyport-tls", errors.New("no rights"))

// TestStartWhileNothingCanBeWritten shows what stands in the Secret and is trusted, also
// where it should have been replaced.
func TestStartWhileNothingCanBeWritten(t *testing.T) {
	for _, verb := range []string{"update", "patch"} {
		w := newWorld(t, 2)
		w.start()
		w.clock.Step(lives.Certificate / 3 * 2)
		w.failing(verb, "*", errForbidden)
		for i := range w.replicas {
			w.restart(i)
		}
		w.settle()
		for i, r := range w.replicas {
			if err := r.answers(); err != nil {
				t.Errorf("%s fails, replica %d: %v", verb, i, err)
			}
		}
	}
}

// TestRenewalDoesNotWaitForTheNextCA goes on with the CA that there is, where another is
// wanted and no webhook can be written.
func TestRenewalDoesNotWaitForTheNextCA(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	before := w.replicas[0].served
	w.failing("patch", "*", errForbidden)
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: RotateCA} })
	w.clock.Step(lives.Certificate / 3 * 2)
	w.settle()
	now := w.replicas[0]
	if now.served.pair.Leaf.Equal(before.pair.Leaf) || !now.served.ca.Equal(before.ca) || w.cas() != 1 || !strings.Contains(now.said(), "no rights") {
		t.Errorf("it is not renewed, or by another, of %d CAs; it says %q", w.cas(), now.said())
	}
	if made := now.State().Made; made[madeCA] != 1 || made[madeCertificate] != 2 {
		t.Errorf("counted: %v", made)
	}
}

// TestNotReadyBeforeItIsTrusted keeps a replica out of rotation that no webhook believes,
// and takes none away that was believed once.
func TestNotReadyBeforeItIsTrusted(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(w.foreign("a").CA)
	restored := w.failing("patch", "mutatingwebhookconfigurations", errForbidden)
	w.lead(-1)
	for range 3 {
		w.settle()
	}
	if err := w.replicas[0].answers(); err == nil {
		t.Error("it is ready, and one webhook does not trust it")
	}
	restored()
	w.settle()
	w.settle()
	if err := w.replicas[0].answers(); err != nil {
		t.Error(err)
	}
	w.failing("patch", "*", errForbidden)
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[0].ClientConfig.CABundle = nil
	})
	w.settle()
	if err := w.replicas[0].answers(); err != nil {
		t.Errorf("one webhook was changed, and the others lose it too: %v", err)
	}
	// A pair that is there, and that some webhook does not trust.
	w.restart(0)
	w.settle()
	if err := w.replicas[0].Ready(); err == nil || !strings.Contains(err.Error(), "pods.sallyport.io") {
		t.Errorf("started again: %v", err)
	}
}

// TestFromAFile lets replicas that keep their certificate in a Secret come beside a leader
// that writes webhooks of its own from a file.
func TestFromAFile(t *testing.T) {
	w := newWorld(t, 2)
	file := w.foreign(place.Names()...).CA
	w.wire(file)
	w.replicas[1].says = new("")
	w.lead(-1)
	writes := func() {
		shows := map[string]string{"replica-0": w.replicas[0].Shows()}
		w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for _, i := range []int{0, 2} {
				c.Webhooks[i].ClientConfig.CABundle = Beside(file, c.Webhooks[i].ClientConfig.CABundle, shows)
			}
		})
	}
	for range 4 {
		w.look(0)
		writes()
	}
	w.clock.Step(lives.Overlap)
	for range 4 {
		w.look(0)
		writes()
	}
	if err := w.replicas[0].answers(); err != nil {
		t.Fatal(err)
	}
	w.lead(0)
	w.replicas[1].says = new(nothing)
	if got, err := w.replicas[0].Bundle(file); err != nil || strings.Count(string(got), "BEGIN") != 2 {
		t.Errorf("%v, %q", err, got)
	}
	if got := Beside(file, w.judging().Webhooks[0].ClientConfig.CABundle, nil); string(got) != string(file) {
		t.Errorf("what nobody shows stays: %q", got)
	}
}

// TestOneBundleForAll has the webhooks for policies trust what the others do, so that the
// two who write them agree.
func TestOneBundleForAll(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	lost := w.foreign(place.Names()...).CA
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[0].ClientConfig.CABundle = append(c.Webhooks[0].ClientConfig.CABundle, lost...)
	})
	cas := w.hooks()[0].cas
	w.replicas[1].says = new(fingerprint(cas[len(cas)-1]))
	w.look(0)
	for range 3 {
		before := w.judging()
		w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			own, err := w.replicas[0].Bundle(c.Webhooks[0].ClientConfig.CABundle)
			if err != nil {
				t.Fatal(err)
			}
			c.Webhooks[2].ClientConfig.CABundle = own
		})
		version := w.judging().ResourceVersion
		w.look(0)
		if after := w.judging(); after.ResourceVersion != version {
			t.Errorf("one writes over the other:\n%s\n%s", before.Webhooks[2].ClientConfig.CABundle, after.Webhooks[2].ClientConfig.CABundle)
		}
	}
}

// unmutate takes the caBundle out of the webhook that mutates.
func (w *world) unmutate() {
	w.Helper()
	api := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := api.Get(w.Context(), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	c = c.DeepCopy()
	w.stamp(c)
	c.Webhooks[0].ClientConfig.CABundle = nil
	if err := w.client.Tracker().Update(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}, c, ""); err != nil {
		w.Fatal(err)
	}
}
