package certificate

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// TestFirstStart has two replicas find no Secret at once: one makes it, and both show the
// same.
func TestFirstStart(t *testing.T) {
	w := newWorld(t, 2)
	w.wire(nil)
	if _, err := w.replicas[1].Certificate(); err == nil || !strings.Contains(err.Error(), "no certificate yet") {
		t.Errorf("before it looked: %v", err)
	}
	raced := w.between(func() { w.replicas[1].look(t.Context()) })
	w.replicas[0].look(t.Context())
	if !*raced || w.replicas[0].served != nil || w.replicas[1].served == nil {
		t.Fatal("the one that lost the race shows something, or the one that won does not")
	}
	w.settle()
	w.wired = true
	w.settle()
	one, _ := w.replicas[0].Certificate()
	other, _ := w.replicas[1].Certificate()
	if one == nil || other == nil || !one.Leaf.Equal(other.Leaf) || w.cas() != 1 || w.replicas[0].failures+w.replicas[1].failures != 0 {
		t.Errorf("they show different certificates, or %d CAs were made, or a race counts as a failure", w.cas())
	}
	for _, name := range append([]string{"localhost"}, place.Names()...) {
		if err := one.Leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}

// TestRenewal renews when two thirds are over, by the replica that leads only, and of the
// same CA.
func TestRenewal(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	before := w.secret()
	w.clock.Step(lives.Certificate/3*2 - time.Hour)
	w.settle()
	if !bytes.Equal(before.Data[certKey], w.secret().Data[certKey]) {
		t.Fatal("it was renewed early")
	}
	w.clock.Step(time.Hour)
	w.look(1)
	if !bytes.Equal(before.Data[certKey], w.secret().Data[certKey]) {
		t.Fatal("one that does not lead renewed it")
	}
	w.look(0, 1)
	after := w.secret()
	if bytes.Equal(before.Data[certKey], after.Data[certKey]) || !bytes.Equal(before.Data[BundleKey], after.Data[BundleKey]) {
		t.Fatal("it was not renewed, or the CA is another")
	}
	for i, r := range w.replicas {
		if !bytes.Equal(r.served.cert, after.Data[certKey]) {
			t.Errorf("replica %d shows the old one", i)
		}
	}
	if state := w.replicas[1].State(); !state.CAEnds.Equal(began.Add(lives.CA)) || !state.NextCAShown.IsZero() || state.Waits || state.Failures != 0 {
		t.Errorf("state: %+v", state)
	}
	if made := w.replicas[0].State().Made; made[madeCertificate] != 2 || made[madeCA] != 1 {
		t.Errorf("counted: %v", made)
	}
}

// TestRotateStepByStep replaces the CA on request, with a restart and another leader
// between any two steps.
func TestRotateStepByStep(t *testing.T) {
	w := newWorld(t, 3)
	w.start()
	old := w.replicas[0].served.ca
	w.change(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationRotate: CallersHaveIt} })
	turn := 0
	next := func() {
		turn++
		w.restart(turn % 3)
		w.lead((turn + 1) % 3)
	}
	w.look(0)
	if w.cas() != 2 || !holds(w.hooks().bundle(), old) {
		t.Fatalf("%d CAs", w.cas())
	}
	next()
	w.settle()
	w.clock.Step(lives.Overlap - time.Second)
	next()
	w.settle()
	if !strings.Contains(w.replicas[(turn+1)%3].said(), "certificates of another CA are shown from") {
		t.Errorf("nobody is told: %s", w.replicas[(turn+1)%3].said())
	}
	for i, r := range w.replicas {
		if r.served != nil && !r.served.ca.Equal(old) {
			t.Fatalf("replica %d shows the new one too early", i)
		}
	}
	w.clock.Step(2 * time.Second)
	next()
	// Others stay behind: the old CA has to stay.
	lead := (turn + 1) % 3
	w.look(lead)
	if w.replicas[lead].served.ca.Equal(old) || w.cas() != 2 || w.secret().Annotations[AnnotationRotate] != "" {
		t.Fatal("the new one is not shown, or the old CA is gone, or the request for it stays")
	}
	w.clock.Step(2 * lives.Overlap)
	w.look(lead)
	if w.cas() != 2 || !strings.Contains(w.replicas[lead].said(), "not every replica says") {
		t.Fatalf("the old CA is gone while others show it: %s", w.replicas[lead].said())
	}
	next()
	w.settle()
	w.settle()
	if w.cas() != 1 {
		t.Fatalf("the old CA stays, with %d", w.cas())
	}
	for _, h := range w.hooks() {
		if holds(h.cas, old) || len(h.cas) != 1 {
			t.Errorf("%s trusts the old CA", h.String())
		}
	}
}

// TestYears goes through the lives of two CAs, by half days, with replicas that are
// started again and lead by turns. What is shown is always trusted and never over.
func TestYears(t *testing.T) {
	w := newWorld(t, 3)
	w.start()
	first := w.replicas[0].served.ca
	chance := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for day := 0.0; day < 900; day += 0.5 {
		w.clock.Step(12 * time.Hour)
		if chance.IntN(4) == 0 {
			w.restart(chance.IntN(3))
		}
		if chance.IntN(4) == 0 {
			w.lead(chance.IntN(3))
		}
		order := chance.Perm(3)
		w.look(order[:1+chance.IntN(3)]...)
		w.look(order...)
		seen[fingerprint(w.replicas[0].served.ca)] = true
	}
	if len(seen) < 3 || w.replicas[0].served.ca.Equal(first) {
		t.Errorf("%d CAs were seen", len(seen))
	}
}

// TestSecretIsGone shows what is had, and makes another CA, which is trusted before it is
// shown; also where nobody has anything any more.
func TestSecretIsGone(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		t.Run(fmt.Sprint("forgotten ", forgotten), func(t *testing.T) {
			w := newWorld(t, 2)
			w.start()
			old := w.replicas[1].served
			w.remove()
			if forgotten {
				// The other goes on with what it shows.
				w.restart(0)
			}
			w.look(0)
			if !forgotten && (!strings.Contains(w.replicas[0].said(), "is gone") || !bytes.Equal(w.secret().Data[certKey], old.cert)) {
				t.Errorf("%s", w.replicas[0].said())
			}
			if w.cas() != 2 {
				t.Fatalf("%d CAs", w.cas())
			}
			w.settle()
			w.clock.Step(lives.Certificate / 3 * 2)
			w.settle()
			w.clock.Step(lives.Overlap)
			w.settle()
			w.clock.Step(lives.Overlap)
			w.settle()
			for i, r := range w.replicas {
				if r.served.ca.Equal(old.ca) {
					t.Errorf("replica %d shows the CA whose key is lost", i)
				}
			}
			if w.cas() != 1 {
				t.Errorf("%d CAs are left", w.cas())
			}
		})
	}
}

// TestForeignContent is said, by the Secret and the key, and mended by the replica that
// leads; what else the Secret holds stays.
func TestForeignContent(t *testing.T) {
	for _, c := range []struct {
		name, says string
		edit       func(*world, *corev1.Secret)
	}{
		{"a key of another", `"tls.crt"`, func(w *world, s *corev1.Secret) { s.Data[keyKey] = w.foreign("a").Key }},
		{"no PEM", `"tls.crt"`, func(_ *world, s *corev1.Secret) { s.Data[certKey] = []byte("nonsense") }},
		{"no key", `"tls.key"`, func(_ *world, s *corev1.Secret) { delete(s.Data, keyKey) }},
		{"another CA's certificate", `"tls.crt"`, func(w *world, s *corev1.Secret) {
			p := w.foreign(place.Names()...)
			s.Data[certKey], s.Data[keyKey] = p.Cert, p.Key
		}},
		{"a name missing", `"tls.crt"`, func(w *world, s *corev1.Secret) {
			ca, err := selfsigned.NewCA(append([]string{"localhost", "else"}, place.Names()...), w.clock.Now(), lives.CA)
			if err != nil {
				w.Fatal(err)
			}
			p, err := ca.Sign([]string{"else"}, w.clock.Now(), lives.Certificate)
			if err != nil {
				w.Fatal(err)
			}
			s.Data[certKey], s.Data[keyKey], s.Data[caKey], s.Data[BundleKey] = p.Cert, p.Key, ca.Key, p.CA
		}},
		{"expired", `"ca.crt"`, func(w *world, s *corev1.Secret) {
			p, err := selfsigned.New(place.Names(), w.clock.Now().Add(-2*selfsigned.Validity))
			if err != nil {
				w.Fatal(err)
			}
			s.Data[certKey], s.Data[keyKey], s.Data[BundleKey] = p.Cert, p.Key, p.CA
		}},
		{"a CA that is none", `"ca.crt"`, func(w *world, s *corev1.Secret) {
			s.Data[BundleKey] = s.Data[certKey][:bytes.Index(s.Data[certKey], []byte("-----END"))+26]
		}},
		{"no bundle", `"ca.crt"`, func(_ *world, s *corev1.Secret) { delete(s.Data, BundleKey) }},
		{"the CA's key of another", `"ca.key"`, func(w *world, s *corev1.Secret) { s.Data[caKey] = w.foreign("a").Key }},
		{"no CA's key", `"ca.key"`, func(_ *world, s *corev1.Secret) { delete(s.Data, caKey) }},
		{"nothing", `"ca.crt"`, func(_ *world, s *corev1.Secret) { s.Data = nil }},
		{"all of it valid, and of another", `"ca.crt"`, func(w *world, s *corev1.Secret) {
			ca, err := selfsigned.NewCA(append([]string{"localhost", "else"}, place.Names()...), w.clock.Now(), lives.CA)
			if err != nil {
				w.Fatal(err)
			}
			p, err := ca.Sign(append([]string{"localhost"}, place.Names()...), w.clock.Now(), lives.Certificate)
			if err != nil {
				w.Fatal(err)
			}
			s.Data[certKey], s.Data[keyKey], s.Data[caKey], s.Data[BundleKey] = p.Cert, p.Key, ca.Key, p.CA
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.start()
			shown := w.replicas[1].served
			w.change(func(s *corev1.Secret) {
				c.edit(w, s)
				if s.Data == nil {
					s.Data = map[string][]byte{}
				}
				s.Data["theirs"] = []byte("stays")
			})
			broken := w.secret()
			w.look(1)
			if said := w.replicas[1].said(); !strings.Contains(said, c.says) || !strings.Contains(said, "sallyport-system/sallyport-tls") {
				t.Errorf("it says %q", said)
			}
			if got := w.secret().Data[certKey]; !bytes.Equal(w.replicas[1].served.cert, shown.cert) || !bytes.Equal(got, broken.Data[certKey]) && !bytes.Equal(got, shown.cert) {
				t.Error("one that does not lead shows it, or made another")
			}
			w.settle()
			w.settle()
			if s := w.secret(); string(s.Data["theirs"]) != "stays" {
				t.Error("what is theirs is gone")
			}
			if said := w.replicas[0].said(); strings.Contains(said, "cannot be used") {
				t.Errorf("it is not mended: %s", said)
			}
			// What was mended goes on.
			w.clock.Step(lives.Certificate / 3 * 2)
			w.settle()
			w.clock.Step(lives.Overlap)
			w.settle()
			w.clock.Step(lives.Overlap)
			w.settle()
			if w.cas() != 1 || bytes.Equal(w.replicas[1].served.cert, shown.cert) {
				t.Errorf("%d CAs, and the old certificate is shown: %s", w.cas(), w.replicas[0].said())
			}
		})
	}
}

// TestNotOurs leaves alone what cannot be a Secret of ours.
func TestNotOurs(t *testing.T) {
	for _, c := range []struct {
		says string
		edit func(*corev1.Secret)
	}{
		{"has the type bootstrap.kubernetes.io/token", func(s *corev1.Secret) { s.Type = corev1.SecretTypeBootstrapToken }},
		{"is immutable", func(s *corev1.Secret) { s.Immutable = new(true) }},
	} {
		w := newWorld(t, 1)
		w.start()
		w.change(c.edit)
		before := w.version
		w.settle()
		if said := w.replicas[0].said(); w.version != before || !strings.Contains(said, c.says) || !strings.Contains(said, "sallyport-system/sallyport-tls") {
			t.Errorf("%s: it was written, or it says %q", c.says, said)
		}
		if _, err := w.replicas[0].Certificate(); err != nil {
			t.Error(err)
		}
		// One that has nothing shows what is in it all the same.
		w.restart(0)
		w.settle()
		if err := w.replicas[0].answers(); err != nil || !strings.Contains(w.replicas[0].said(), c.says) {
			t.Errorf("started again: %v, it says %q", err, w.replicas[0].said())
		}
	}
}

// TestAPIServerIsAway keeps what is shown, and says of one that has nothing why.
func TestAPIServerIsAway(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	for _, what := range []string{"secrets", "validatingwebhookconfigurations"} {
		restored := w.failing("get", what, context.DeadlineExceeded)
		w.clock.Step(lives.Certificate / 3 * 2)
		failed := w.replicas[0].failures
		w.replicas[0].look(t.Context())
		if _, err := w.replicas[0].Certificate(); err != nil || w.replicas[0].failures != failed+1 || !strings.Contains(w.replicas[0].said(), "cannot be read") {
			t.Errorf("%s: %v, %d failures, it says %q", what, err, w.replicas[0].failures, w.replicas[0].said())
		}
		restored()
		w.settle()
		if said := w.replicas[0].said(); said != "" {
			t.Errorf("%s: it still says %q", what, said)
		}
	}
	restored := w.failing("get", "secrets", context.DeadlineExceeded)
	w.restart(1)
	w.replicas[1].look(t.Context())
	if _, err := w.replicas[1].Certificate(); err == nil || !strings.Contains(err.Error(), "sallyport-system/sallyport-tls") {
		t.Errorf("it has nothing, and says %v", err)
	}
	restored()
	w.look(1)
	if _, err := w.replicas[1].Certificate(); err != nil {
		t.Error(err)
	}
}

// TestConflict reads again what another wrote in between.
func TestConflict(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	w.clock.Step(lives.Certificate / 3 * 2)
	raced := w.between(func() {
		w.replicas[1].leads = true
		w.replicas[1].look(t.Context())
	})
	w.look(0)
	if !*raced || !apierrors.IsConflict(w.replicas[0].wrong) || w.replicas[0].failures != 0 {
		t.Errorf("%v, %d failures", w.replicas[0].wrong, w.replicas[0].failures)
	}
	w.settle()
	if !bytes.Equal(w.replicas[0].served.cert, w.replicas[1].served.cert) || w.cas() != 1 {
		t.Error("they show different certificates")
	}
}

// TestWithoutALeader has replicas that are new beside those of an older version, one of
// which leads, come to a certificate by themselves: webhooks go on to trust the old ones.
func TestWithoutALeader(t *testing.T) {
	w := newWorld(t, 1)
	older := w.foreign(place.Names()...)
	w.wire(older.CA)
	w.lead(-1)
	w.settle()
	if _, err := w.replicas[0].Certificate(); err != nil {
		t.Fatal(err, w.replicas[0].said())
	}
	trusted, err := selfsigned.Certificates(older.CA)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range w.hooks() {
		if !holds(h.cas, trusted[0]) || !holds(h.cas, w.replicas[0].served.ca) {
			t.Errorf("%s does not trust both", h.String())
		}
	}
}
