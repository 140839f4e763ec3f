package shipped

import (
	"encoding/pem"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func block(of string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(of)}))
}

// TestKeepsCA: another CA is trusted beside the one before for some time, and then in place
// of it.
func TestKeepsCA(t *testing.T) {
	ca := block("first")
	w := newWorld(t, func(o *Options) { o.CA, o.KeepsCA = func() ([]byte, error) { return []byte(ca), nil }, true })
	w.reached = true
	trust := func(want string) {
		t.Helper()
		w.keeps(t)
		judging, changing := w.live(t)
		for _, h := range append(judging, changing...) {
			if got := string(h.ClientConfig.CABundle); got != want {
				t.Errorf("%s trusts %q, want %q", h.Name, got, want)
			}
		}
	}
	trust(block("first"))
	ca = block("second")
	trust(block("second") + block("first"))
	w.clock.SetTime(w.clock.Now().Add(overlaps))
	trust(block("second"))
	// What a replica needs that is not by that file stays.
	w.trusts.beside = func(ca, trusted []byte) []byte { return []byte(string(ca) + block("needed")) }
	trust(block("second") + block("needed"))
}

// TestBundle: where something else keeps the CA, what is there stays, and what has none
// trusts what the canary does.
func TestBundle(t *testing.T) {
	hook := func(ca string) *admissionregistrationv1.MutatingWebhook {
		return &admissionregistrationv1.MutatingWebhook{ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte(ca)}}
	}
	var trusts trusts
	trusts.take([]byte("given"), time.Unix(1, 0))
	for name, c := range map[string]struct {
		was, canary *admissionregistrationv1.MutatingWebhook
		want        string
	}{
		"its own":           {hook("own"), hook("canary"), "own"},
		"none of its own":   {hook(""), hook("canary"), "canary"},
		"not there":         {nil, hook("canary"), "canary"},
		"neither":           {nil, nil, "given"},
		"the canary's is 0": {nil, hook(""), "given"},
	} {
		if got := string(trusts.bundle(c.was, c.canary)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := string(with([]byte(block("a")+"\n"), []byte(block("b")+block("a")+"what is not a certificate"))); got != block("a")+block("b") {
		t.Errorf("%q", got)
	}
}
