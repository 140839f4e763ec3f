package hostanswer_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
)

type rights struct{ err error }

func (r rights) Allowed(_ context.Context, user request.User, a request.Attributes) (bool, error) {
	return user.Name == "a" && a.Verb == "get" && a.Resource == "pods", r.err
}

type hosts struct{}

func (hosts) LookupHost(_ context.Context, host string) ([]string, error) {
	if host != "known" {
		return nil, errors.New("no such host")
	}
	return []string{"10.0.0.1", "::1"}, nil
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	full := &hostanswer.Answers{Rights: rights{}, Resolver: hosts{}}
	for name, c := range map[string]struct {
		answers *hostanswer.Answers
		asked   hostcall.Request
		want    string
		err     string
	}{
		"may":           {full, &hostcall.CanI{User: "a", Verb: "get", Resource: "pods"}, `{"allowed":true}`, ""},
		"may not":       {full, &hostcall.CanI{User: "b", Verb: "get", Resource: "pods"}, `{"allowed":false}`, ""},
		"nobody knows":  {&hostanswer.Answers{Rights: rights{errors.New("down")}}, &hostcall.CanI{User: "a"}, "", "down"},
		"host":          {full, &hostcall.Lookup{Host: "known"}, `{"ips":["10.0.0.1","::1"]}`, ""},
		"no host":       {full, &hostcall.Lookup{Host: "other"}, "", "no such host"},
		"log":           {full, &hostcall.Line{}, "", ""},
		"no objects":    {full, &hostcall.Read{}, "", "does not offer"},
		"no images":     {full, &hostcall.Image{}, "", "does not offer"},
		"no signatures": {full, &hostcall.Verify{}, "", "does not offer"},
		"no rights":     {&hostanswer.Answers{}, &hostcall.CanI{}, "", "does not offer"},
		"no resolver":   {&hostanswer.Answers{}, &hostcall.Lookup{}, "", "does not offer"},
		"nothing":       {full, nil, "", "does not offer"},
	} {
		got, err := c.answers.Answer(t.Context(), &contextgate.Admitted{Request: c.asked})
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	root, rootKey := issue(t, "root", nil, nil, begin)
	other, _ := issue(t, "root", nil, nil, begin)
	leaf, _ := issue(t, "leaf", root, rootKey, begin)
	der := func(c *x509.Certificate) hostcall.Certificate {
		return hostcall.Certificate{Encoding: "Der", Data: c.Raw}
	}
	chain := func(c *x509.Certificate) []hostcall.Certificate { return []hostcall.Certificate{der(c)} }
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	for name, c := range map[string]struct {
		asked hostcall.Trust
		want  string
	}{
		"trusted":              {hostcall.Trust{Certificate: der(leaf), Chain: chain(root)}, `{"trusted":true,"reason":""}`},
		"as PEM":               {hostcall.Trust{Certificate: hostcall.Certificate{Encoding: "Pem", Data: block}, Chain: chain(root)}, `{"trusted":true`},
		"by another root":      {hostcall.Trust{Certificate: der(leaf), Chain: chain(other)}, `{"trusted":false,"reason":"Certificate is not trusted by the provided cert chain"}`},
		"in time":              {hostcall.Trust{Certificate: der(leaf), Chain: chain(root), NotAfter: "2024-01-01T12:00:00Z"}, `{"trusted":true`},
		"expired":              {hostcall.Trust{Certificate: der(leaf), Chain: chain(root), NotAfter: "2030-01-01T00:00:00Z"}, `{"trusted":false,"reason":"Certificate is being used after its expiration date"}`},
		"too early":            {hostcall.Trust{Certificate: der(leaf), Chain: chain(root), NotAfter: "2020-01-01T00:00:00Z"}, `{"trusted":false,"reason":"Certificate is being used before its validity date"}`},
		"no chain":             {hostcall.Trust{Certificate: der(leaf)}, `{"trusted":true`},
		"no chain, late":       {hostcall.Trust{Certificate: der(leaf), NotAfter: "2030-01-01T00:00:00Z"}, `{"trusted":false`},
		"no chain, a stranger": {hostcall.Trust{Certificate: der(other)}, `{"trusted":false,"reason":"Certificate is not trusted by the provided cert chain"}`},
		"no time":              {hostcall.Trust{Certificate: der(leaf), NotAfter: "soon"}, "not_after"},
		"no certificate":       {hostcall.Trust{Certificate: hostcall.Certificate{Encoding: "Pem", Data: []byte("x")}}, "not PEM"},
		"two of them":          {hostcall.Trust{Certificate: hostcall.Certificate{Encoding: "Pem", Data: append(block, block...)}}, "more than one"},
	} {
		answers := &hostanswer.Answers{Roots: x509.NewCertPool(), Now: func() time.Time { return begin.Add(time.Hour) }}
		answers.Roots.AddCert(root)
		got, err := answers.Answer(t.Context(), &contextgate.Admitted{Request: &c.asked})
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func issue(t *testing.T, name string, by *x509.Certificate, byKey *ecdsa.PrivateKey, begin time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.AddDate(0, 0, 1),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if by == nil {
		by, byKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}
