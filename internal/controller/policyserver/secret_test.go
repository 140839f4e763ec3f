package policyserver

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

func (l *lab) secretOf(server string) map[string][]byte {
	l.Helper()
	s, ok := read[corev1.Secret](l, own, ObjectName(server))
	if !ok {
		l.Fatal("there is no Secret")
	}
	return s.Data
}

func (l *lab) trusted(server string) []byte {
	l.Helper()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName(server))
	if len(v.Webhooks) == 0 {
		return nil
	}
	return v.Webhooks[0].ClientConfig.CABundle
}

// TestRotation lets a certificate come to its end.
func TestRotation(t *testing.T) {
	const host = "policy-server-s.sallyport-system.svc"
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	first := l.secretOf("s")
	if usable(first[certKey], first[keyKey], l.trusted("s"), host, l.clock.Now()) == nil {
		t.Fatal("what is trusted does not vouch for what is shown")
	}
	if usable(first[certKey], first[keyKey], first[caKey], "policy-server-other.sallyport-system.svc", l.clock.Now()) != nil {
		t.Error("the certificate is for another server too")
	}
	l.clock.Step(selfsigned.Validity - renewBefore - time.Hour)
	l.sweep()
	if got := l.secretOf("s"); !bytes.Equal(got[certKey], first[certKey]) || got[nextCertKey] != nil {
		t.Error("the certificate is renewed too early")
	}
	l.clock.Step(2 * time.Hour)
	l.sweep()
	second := l.secretOf("s")
	if !bytes.Equal(second[certKey], first[certKey]) || second[nextCertKey] == nil {
		t.Fatal("the next certificate is not made before it is shown")
	}
	// The webhooks trust both before the next is shown.
	for _, cert := range []struct{ cert, key []byte }{{first[certKey], first[keyKey]}, {second[nextCertKey], second[nextKeyKey]}} {
		if usable(cert.cert, cert.key, l.trusted("s"), host, l.clock.Now()) == nil {
			t.Error("a certificate is not trusted")
		}
	}
	l.clock.Step(stageFor - time.Minute)
	l.sweep()
	if got := l.secretOf("s"); !bytes.Equal(got[certKey], first[certKey]) {
		t.Error("the next certificate is shown too early")
	}
	l.clock.Step(2 * time.Minute)
	l.sweep()
	third := l.secretOf("s")
	if !bytes.Equal(third[certKey], second[nextCertKey]) || third[nextCertKey] != nil {
		t.Error("the next certificate is not shown")
	}
	l.clock.Step(renewBefore)
	l.sweep()
	l.sweep()
	if left, err := selfsigned.Certificates(l.trusted("s")); err != nil || len(left) != 1 {
		t.Errorf("%d CAs are trusted after the first ended, %v", len(left), err)
	}
	if d := l.deployment("s"); strings.Contains(strings.Join(slices.Sorted(slices.Values(d.Spec.Template.Spec.Containers[0].Args)), " "), "next") {
		t.Error("the pods are given the next certificate")
	}
}

// TestLostSecret loses the certificate: what pods still show stays trusted.
func TestLostSecret(t *testing.T) {
	const host = "policy-server-s.sallyport-system.svc"
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	first := l.secretOf("s")
	s, _ := read[corev1.Secret](l, own, ObjectName("s"))
	for name, change := range map[string]func(){
		"gone": func() {
			if err := l.client.Delete(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		},
		"spoiled": func() {
			s, _ := read[corev1.Secret](l, own, ObjectName("s"))
			s.Data[keyKey] = []byte("none")
			if err := l.client.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		},
	} {
		change()
		l.sweep()
		now := l.secretOf("s")
		if usable(now[certKey], now[keyKey], l.trusted("s"), host, l.clock.Now()) == nil {
			t.Errorf("%s: the new certificate is not trusted", name)
		}
		if usable(first[certKey], first[keyKey], l.trusted("s"), host, l.clock.Now()) == nil {
			t.Errorf("%s: what the pods show is not trusted any more", name)
		}
	}
}

// TestCallers hands on what callers are let in by, and what changes of it.
func TestCallers(t *testing.T) {
	l := newLab(t, serverOf("s", ""))
	l.sweep()
	if got := l.secretOf("s"); string(got[clientCAKey]) != "the CA" || got[tokensKey] != nil {
		t.Errorf("%s, %s", got[clientCAKey], got[tokensKey])
	}
	l.Callers = func() (*Callers, error) { return &Callers{Tokens: []byte("t")}, nil }
	l.sweep()
	if got := l.secretOf("s"); got[clientCAKey] != nil || string(got[tokensKey]) != "t" {
		t.Errorf("%s, %s", got[clientCAKey], got[tokensKey])
	}
	args := strings.Join(l.deployment("s").Spec.Template.Spec.Containers[0].Args, " ")
	if !strings.Contains(args, "--auth-token-file /etc/sallyport-tls/tokens") || strings.Contains(args, "--client-ca-file") {
		t.Error(args)
	}
}
