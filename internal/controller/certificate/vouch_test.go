package certificate

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// ca is a CA of somebody else's, with all keys of the Secret for it.
func (w *world) ca() (*selfsigned.CA, map[string][]byte) {
	w.Helper()
	names := append([]string{"localhost"}, place.Names()...)
	ca, err := selfsigned.NewCA(names, w.clock.Now(), lives.CA)
	if err != nil {
		w.Fatal(err)
	}
	p, err := ca.Sign(names, w.clock.Now(), lives.Certificate)
	if err != nil {
		w.Fatal(err)
	}
	return ca, map[string][]byte{certKey: p.Cert, keyKey: p.Key, caKey: ca.Key, BundleKey: p.CA}
}

// trusts reports whether any webhook trusts a CA.
func (w *world) trusts(ca *selfsigned.CA) bool {
	w.Helper()
	return holds(w.hooks().trusted(), ca.Certificate)
}

// TestWhoWritesTheSecretIsNotTrusted spreads no CA that only stands in the Secret: not in
// place of the one that is used, nor beside it, nor as the next.
func TestWhoWritesTheSecretIsNotTrusted(t *testing.T) {
	for name, plant := range map[string]func(s *corev1.Secret, evil map[string][]byte){
		"in its place": func(s *corev1.Secret, evil map[string][]byte) { s.Data = evil },
		"beside it": func(s *corev1.Secret, evil map[string][]byte) {
			s.Data[BundleKey] = slices.Concat(s.Data[BundleKey], evil[BundleKey])
		},
		"as the next": func(s *corev1.Secret, evil map[string][]byte) {
			s.Data[BundleKey], s.Data[nextCAKey] = slices.Concat(s.Data[BundleKey], evil[BundleKey]), evil[caKey]
		},
		"as the next, with a forged word": func(s *corev1.Secret, evil map[string][]byte) {
			s.Data[BundleKey], s.Data[nextCAKey] = slices.Concat(s.Data[BundleKey], evil[BundleKey]), evil[caKey]
			s.Annotations = map[string]string{annotationVouched: "AAAA", annotationTrusted: began.Format("2006-01-02T15:04:05Z"), AnnotationRotate: CallersHaveIt}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.start()
			evil, data := w.ca()
			w.change(func(s *corev1.Secret) { plant(s, data) })
			w.look(0)
			if said := w.replicas[0].said(); !strings.Contains(said, "put it into the caBundle of one of the webhooks") {
				t.Errorf("it says %q", said)
			}
			for range 4 {
				w.settle()
				if w.trusts(evil) || bytes.Contains(w.secret().Data[BundleKey], bytes.TrimSpace(data[BundleKey])) {
					t.Fatal("it is trusted")
				}
				if !holds(w.hooks().trusted(), w.replicas[0].served.ca) {
					t.Fatal("what is shown is trusted no more")
				}
				w.clock.Step(2 * lives.Overlap)
			}
			// What was taken out is not lost.
			if !bytes.Contains(w.secret().Data[unusedKey], bytes.TrimSpace(data[BundleKey])) {
				t.Error("it was thrown away")
			}
		})
	}
}

// TestStrangeSecret is left as it is where nothing else is known, and said; a word of who
// may write webhooks is enough, and so is that nothing is trusted yet.
func TestStrangeSecret(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(w.foreign("a").CA)
	mine, data := w.ca()
	s := empty("sallyport-system", "sallyport-tls")
	s.Data = data
	w.create(s)
	w.settle()
	if _, err := w.replicas[0].Certificate(); err == nil || !strings.Contains(err.Error(), "put that into the caBundle of a webhook") || w.trusts(mine) {
		t.Errorf("it is shown, or trusted, or says %v", err)
	}
	if got := w.secret(); !bytes.Equal(got.Data[BundleKey], data[BundleKey]) || !bytes.Equal(got.Data[caKey], data[caKey]) {
		t.Error("it was written")
	}
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[0].ClientConfig.CABundle = slices.Concat(c.Webhooks[0].ClientConfig.CABundle, data[BundleKey])
	})
	w.settle()
	if err := w.replicas[0].answers(); err != nil || !w.replicas[0].served.ca.Equal(mine.Certificate) {
		t.Errorf("somebody vouched for it: %v", err)
	}

	w = newWorld(t, 1)
	w.wire(nil)
	mine, data = w.ca()
	s = empty("sallyport-system", "sallyport-tls")
	s.Data = data
	w.create(s)
	w.settle()
	if err := w.replicas[0].answers(); err != nil || !w.replicas[0].served.ca.Equal(mine.Certificate) || !w.trusts(mine) {
		t.Errorf("nothing was trusted before: %v", err)
	}
}

// TestNextCAIsVouchedFor spreads the next CA again where somebody wrote older caBundles
// back, by whichever replica.
func TestNextCAIsVouchedFor(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	old := w.secret().Data[BundleKey]
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: RotateCA} })
	w.settle()
	next := w.secret().Data[nextCAKey]
	w.restart(0)
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = old
		}
	})
	w.unmutate()
	w.settle()
	if !bytes.Equal(w.secret().Data[nextCAKey], next) || w.cas() != 2 || len(w.hooks().trusted()) != 2 || len(w.secret().Data[unusedKey]) > 0 {
		t.Errorf("%d CAs, of which webhooks trust %d, and it was made again, or set aside: %s", w.cas(), len(w.hooks().trusted()), w.replicas[0].said())
	}
}

// TestDamagedBundle finds the CA of a key where it stands beside ca.crt, and deletes no key.
func TestDamagedBundle(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a block that is damaged": func(b []byte) []byte {
			return bytes.Replace(b, []byte("\nMII"), []byte("\nAAA"), 1)
		},
		"one of two that is damaged": func(b []byte) []byte {
			return append(bytes.Replace(b, []byte("\nMII"), []byte("\nAAA"), 1), b...)
		},
		"nothing":  func([]byte) []byte { return nil },
		"no PEM":   func([]byte) []byte { return []byte("nonsense") },
		"cut off":  func(b []byte) []byte { return b[:len(b)/2] },
		"a leaf's": func([]byte) []byte { return []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.start()
			before := w.secret()
			w.change(func(s *corev1.Secret) { s.Data[BundleKey] = damage(s.Data[BundleKey]) })
			// One that starts writes too, if it has nothing to show.
			w.restart(1)
			w.look(1)
			w.settle()
			after := w.secret()
			for _, key := range []string{caKey, certKey, keyKey, BundleKey} {
				if !bytes.Equal(before.Data[key], after.Data[key]) {
					t.Errorf("%q is another than before", key)
				}
			}
			if w.cas() != 1 || len(after.Data[nextCAKey]) > 0 {
				t.Errorf("%d CAs", w.cas())
			}
		})
	}
}

// TestUnusedKeysAreKept in the Secret, a bounded number of them.
func TestUnusedKeysAreKept(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	key := w.foreign("a").Key
	for range 2 {
		w.change(func(s *corev1.Secret) { s.Data[caKey] = key })
		w.settle()
		if got := bytes.Count(w.secret().Data[unusedKey], bytes.TrimSpace(key)); got != 1 {
			t.Fatalf("the key that fits nothing stands there %d times", got)
		}
	}
	for range 400 {
		key = w.foreign("a").Key
		w.change(func(s *corev1.Secret) { s.Data[caKey] = key })
		w.look(0)
	}
	if unused := w.secret().Data[unusedKey]; len(unused) > mostUnused || !bytes.Contains(unused, bytes.TrimSpace(key)) || !bytes.HasPrefix(unused, []byte("-----BEGIN")) {
		t.Errorf("%d bytes are kept, or the last is not", len(unused))
	}
}

// TestSecretThatCannotBeWritten brings no CA each time.
func TestSecretThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(w.foreign("a").CA)
	w.lead(-1)
	restored := w.failing("create", "secrets", errForbidden)
	for range 5 {
		w.settle()
	}
	if got := len(w.hooks().trusted()); got != 2 {
		t.Errorf("webhooks trust %d certificates", got)
	}
	restored()
	w.settle()
	if err := w.replicas[0].answers(); err != nil {
		t.Error(err)
	}
}

// TestUnnamed shows a certificate for what the CA is for, says what it is not for, and
// makes the next CA for all.
func TestUnnamed(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.restart(0)
	w.replicas[0].ServerNames = append(w.replicas[0].ServerNames, "guard.example.com")
	w.settle()
	if err := w.replicas[0].answers(); err != nil || !strings.Contains(w.replicas[0].said(), "is not for guard.example.com") {
		t.Errorf("%v, it says %q", err, w.replicas[0].said())
	}
	before := w.replicas[0].served
	w.clock.Step(lives.Certificate / 3 * 2)
	w.settle()
	if err := w.replicas[0].answers(); err != nil || bytes.Equal(w.replicas[0].served.cert, before.cert) {
		t.Errorf("it is not renewed: %v, it says %q", err, w.replicas[0].said())
	}
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: CallersHaveIt} })
	w.settle()
	w.clock.Step(lives.Overlap)
	w.settle()
	if err := w.replicas[0].served.pair.Leaf.VerifyHostname("guard.example.com"); err != nil || w.replicas[0].said() != "" {
		t.Errorf("%v, it says %q", err, w.replicas[0].said())
	}
}

// TestShownForLackOfAnother vouches for nothing: what a replica shows that could not read
// what webhooks trust.
func TestShownForLackOfAnother(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	evil, data := w.ca()
	w.change(func(s *corev1.Secret) { s.Data = data })
	w.restart(0)
	restored := w.failing("get", "mutatingwebhookconfigurations", errForbidden)
	w.replicas[0].look(t.Context())
	if err := w.replicas[0].Ready(); w.replicas[0].served == nil || err == nil {
		t.Fatalf("it shows nothing, or is ready: %v", err)
	}
	restored()
	for range 3 {
		w.settle()
		w.clock.Step(2 * lives.Overlap)
	}
	if w.trusts(evil) || w.replicas[0].Ready() == nil || !strings.HasPrefix(w.replicas[0].Shows(), awaits) {
		t.Errorf("it is trusted, or the replica is ready, which shows %s", w.replicas[0].Shows())
	}
}

// TestLeftAsItIs leaves caBundles as they are too, where nothing vouches for the CA.
func TestLeftAsItIs(t *testing.T) {
	w := newWorld(t, 1)
	one, other := w.foreign("a").CA, w.foreign("b").CA
	w.wire(slices.Concat(one, other))
	_, data := w.ca()
	s := empty("sallyport-system", "sallyport-tls")
	s.Data = data
	s.Data[BundleKey] = slices.Concat(data[BundleKey], one)
	w.create(s)
	w.settle()
	if got := len(w.hooks().trusted()); got != 2 {
		t.Errorf("webhooks trust %d certificates", got)
	}
}
