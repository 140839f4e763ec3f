package selfsigned

import (
	"crypto/x509"
	"net"
	"slices"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// TestConstrained holds a CA to the names and addresses that it was made for, and to
// certificates of servers, also where its key signs others.
func TestConstrained(t *testing.T) {
	for _, c := range []struct {
		of, signs []string
		good      bool
	}{
		{[]string{"a.ns.svc", "127.0.0.1", "::1"}, []string{"a.ns.svc", "127.0.0.1", "::1"}, true},
		{[]string{"a.ns.svc", "127.0.0.1"}, []string{"b.ns.svc"}, false},
		{[]string{"a.ns.svc", "127.0.0.1"}, []string{"10.0.0.1"}, false},
		{[]string{"a.ns.svc", "127.0.0.1"}, []string{"::1"}, false},
		{[]string{"a.ns.svc"}, []string{"a.ns.svc"}, true},
		{[]string{"a.ns.svc"}, []string{"10.0.0.1"}, false},
		{[]string{"a.ns.svc"}, []string{"2001:db8::1"}, false},
		{[]string{"10.0.0.1"}, []string{"10.0.0.1"}, true},
		{[]string{"10.0.0.1"}, []string{"a.ns.svc"}, false},
		{[]string{"*.example.com"}, []string{"x.example.com"}, true},
	} {
		ca, err := NewCA(c.of, now, Validity)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := ca.Sign(c.signs, now, Validity)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Usable(pair.Cert, pair.Key, []*x509.Certificate{ca.Certificate}, c.signs, now); (err == nil) != c.good {
			t.Errorf("a CA of %q signs %q: %v", c.of, c.signs, err)
		}
		if got := slices.Equal(Permitted(ca.Certificate, c.signs), c.signs); got != c.good {
			t.Errorf("a CA of %q permits %q: %v", c.of, c.signs, Permitted(ca.Certificate, c.signs))
		}
		if !slices.Equal(ca.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) || !ca.PermittedDNSDomainsCritical {
			t.Errorf("it vouches for more than servers: %v", ca.ExtKeyUsage)
		}
	}
	if free := (&x509.Certificate{}); !slices.Equal(Permitted(free, []string{"a", net.IPv6loopback.String()}), []string{"a", "::1"}) {
		t.Error("a CA without constraints permits not everything")
	}
}

// TestOneBrokenOfMany reads what can be read beside one that cannot.
func TestOneBrokenOfMany(t *testing.T) {
	one, other := made(t), made(t)
	broken := encode("CERTIFICATE", []byte("nonsense"))
	text := slices.Concat(one.CA, broken, other.CA)
	if found, err := Certificates(text); len(found) != 2 || err == nil {
		t.Errorf("%d were read, error %v", len(found), err)
	}
	if got := Current(text, now); string(got) != string(slices.Concat(one.CA, other.CA)) {
		t.Errorf("current are %q", got)
	}
}

func made(t *testing.T) *Pair {
	t.Helper()
	pair, err := New([]string{"a"}, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
