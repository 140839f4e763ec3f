package certificate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestOverlapIsKept where the Secret is gone or broken and the replica that looks first was
// just started: what others show is put back by them, and another CA waits.
func TestOverlapIsKept(t *testing.T) {
	for _, starts := range []int{0, 1} {
		for name, damage := range map[string]func(w *world){
			"gone":   (*world).remove,
			"broken": func(w *world) { w.change(func(s *corev1.Secret) { s.Data = nil }) },
		} {
			t.Run(fmt.Sprint(name, ", ", starts, " starts"), func(t *testing.T) {
				w := newWorld(t, 3)
				w.start()
				old := w.replicas[2].served
				damage(w)
				w.restart(starts)
				for range 3 {
					w.look(starts)
				}
				if got := w.replicas[starts].served; got != nil {
					t.Fatal("it shows a certificate of a CA that no caller knows")
				}
				for range 3 {
					w.look(2)
					w.look()
				}
				for i, r := range w.replicas {
					if err := r.answers(); err != nil || !bytes.Equal(r.served.cert, old.cert) {
						t.Errorf("replica %d does not show what was shown: %v", i, err)
					}
				}
				w.clock.Step(lives.Overlap)
				w.settle()
				if !bytes.Equal(w.secret().Data[certKey], old.cert) {
					t.Error("a certificate of another CA came as soon as webhooks trusted it")
				}
				if state := w.replicas[0].State(); !state.CAEnds.IsZero() {
					t.Errorf("the end of the CA whose key is lost is told of: %s", state.CAEnds)
				}
				at := w.replicas[0].State().NextCAShown
				if left := at.Sub(w.clock.Now()); left < mostForCallers-time.Hour || !strings.Contains(w.replicas[0].said(), at.UTC().Format(time.RFC3339)) {
					t.Errorf("those who bring the CA to callers have %s, and it says %q", left, w.replicas[0].said())
				}
			})
		}
	}
}

// TestNobodyShowsAnything comes to a certificate at once where nobody is let in any more.
func TestNobodyShowsAnything(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	w.remove()
	w.restart(0)
	w.restart(1)
	w.settle()
	w.settle()
	for i, r := range w.replicas {
		if err := r.answers(); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
}

// TestBesideAnOlderVersion waits for the overlap while replicas show what is not known.
func TestBesideAnOlderVersion(t *testing.T) {
	w := newWorld(t, 2)
	older := w.foreign(place.Names()...)
	w.wire(older.CA)
	w.replicas[1].says = new("")
	w.lead(-1)
	for range 3 {
		w.look(0)
	}
	if _, err := w.replicas[0].Certificate(); err == nil || !strings.Contains(err.Error(), "is shown from "+began.Add(lives.Overlap).Format(time.RFC3339)) {
		t.Errorf("it has one at once, or says %v", err)
	}
	w.clock.Step(lives.Overlap)
	w.look(0)
	w.look(0)
	if err := w.replicas[0].answers(); err != nil {
		t.Error(err)
	}
	// Once it leads, it takes nothing from the older one, a CA or none.
	w.lead(0)
	for range 3 {
		w.clock.Step(2 * lives.Overlap)
		w.look(0)
	}
	if got := len(w.hooks().trusted()); got != 2 {
		t.Errorf("webhooks trust %d certificates", got)
	}
	w.replicas[1].says = new(nothing)
	for range 3 {
		w.clock.Step(2 * lives.Overlap)
		w.look(0)
	}
	if got := len(w.hooks().trusted()); got != 1 {
		t.Errorf("webhooks trust %d certificates, and nobody shows but one", got)
	}
}

// TestRotateWaits for days, or until somebody says that callers have the CA.
func TestRotateWaits(t *testing.T) {
	for _, told := range []bool{false, true} {
		w := newWorld(t, 2)
		w.start()
		old := w.replicas[0].served.ca
		w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: RotateCA} })
		w.settle()
		w.clock.Step(2 * lives.Overlap)
		w.settle()
		said := w.replicas[1].said()
		if at := began.Add(mostForCallers); !w.replicas[1].State().NextCAShown.Equal(at) || !strings.Contains(said, at.Format(time.RFC3339)) || !strings.Contains(said, AnnotationRotate+"="+CallersHaveIt) {
			t.Errorf("next shown %s, it says %q", w.replicas[1].State().NextCAShown, said)
		}
		if told {
			w.change(func(s *corev1.Secret) { s.Annotations[AnnotationRotate] = CallersHaveIt })
		} else {
			w.clock.Step(mostForCallers - 3*lives.Overlap)
			w.settle()
			if !w.replicas[0].served.ca.Equal(old) {
				t.Error("another CA is shown early")
			}
			w.clock.Step(lives.Overlap)
		}
		w.settle()
		for i, r := range w.replicas {
			if r.served.ca.Equal(old) || !r.State().NextCAShown.IsZero() {
				t.Errorf("told %v: replica %d shows the old one, or foresees another", told, i)
			}
		}
	}
}

// TestRotateIsMisspelled says what is expected.
func TestRotateIsMisspelled(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: "CA"} })
	w.look(0)
	if said := w.replicas[0].said(); !strings.Contains(said, `"CA"; ca or callers-have-it is expected`) {
		t.Errorf("it says %q", said)
	}
}

// TestRestoredSecret foretells that what was restored signs by another CA than is shown.
func TestRestoredSecret(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	backup := w.secret()
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: CallersHaveIt} })
	w.settle()
	w.clock.Step(lives.Overlap)
	w.look(0)
	w.look(1)
	shown := w.replicas[0].served
	w.change(func(s *corev1.Secret) { s.Data = backup.Data; s.Data[certKey], s.Data[keyKey] = shown.cert, shown.key })
	w.look(1)
	if at := w.replicas[1].State().NextCAShown; !at.Equal(dueAt(shown.pair.Leaf)) || !strings.Contains(w.replicas[1].said(), "certificates of another CA are shown from") {
		t.Errorf("next shown %s, it says %q", at, w.replicas[1].said())
	}
}

// TestSeeded takes a CA that somebody made beforehand and handed on, without a wait, beside
// replicas that show another certificate.
func TestSeeded(t *testing.T) {
	w := newWorld(t, 2)
	w.wire(w.foreign(place.Names()...).CA)
	w.replicas[1].says = new("")
	w.lead(-1)
	seeded, data := w.ca()
	s := empty("sallyport-system", "sallyport-tls")
	s.Data = map[string][]byte{BundleKey: data[BundleKey], caKey: data[caKey]}
	w.create(s)
	w.edit(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[0].ClientConfig.CABundle = append(c.Webhooks[0].ClientConfig.CABundle, data[BundleKey]...)
	})
	for range 3 {
		w.look(0)
	}
	if err := w.replicas[0].answers(); err != nil || !w.replicas[0].served.ca.Equal(seeded.Certificate) {
		t.Errorf("%v, it says %q", err, w.replicas[0].said())
	}
}
