package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

var ofCertificates = []check{
	{"Certificates", "certificates.ca", (*looking).authorities, false},
	{"Certificates", "certificates.served", (*looking).served, true},
}

// Times that certificates should have left. Those that do not last long are renewed in
// their last third.
const (
	soon     = 30 * 24 * time.Hour
	verySoon = 7 * 24 * time.Hour
)

// Dial looks at the certificates that are served at HOST:PORT, which have to be vouched
// for by roots.
type Dial func(ctx context.Context, address string, roots *x509.CertPool) ([]*x509.Certificate, error)

// dialLimit bounds one look at what is served.
const dialLimit = 10 * time.Second

// DialTLS is Dial by the network, as of the time now.
func DialTLS(now func() time.Time) Dial {
	return func(ctx context.Context, address string, roots *x509.CertPool) ([]*x509.Certificate, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		dialer := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host, Time: now}}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		secured, ok := connection.(*tls.Conn)
		if !ok {
			return nil, errors.New("the connection has no certificate")
		}
		return secured.ConnectionState().PeerCertificates, nil
	}
}

// certificatesOf reads all certificates in PEM, of which there has to be one.
func certificatesOf(text []byte) ([]*x509.Certificate, error) {
	all, err := selfsigned.Certificates(text)
	if err == nil && len(all) == 0 {
		err = errors.New("there is no certificate in it")
	}
	return all, err
}

// left says how long a certificate is good for.
func (l *looking) left(s *says, object, path, hint string, one *x509.Certificate) {
	now, lasts := l.now(), one.NotAfter.Sub(one.NotBefore)
	days := int(one.NotAfter.Sub(now) / (24 * time.Hour))
	name := one.Subject.CommonName
	if name == "" && len(one.DNSNames) > 0 {
		name = one.DNSNames[0]
	}
	switch {
	case now.After(one.NotAfter):
		s.problem(object, path, hint, "%s expired on %s: no API server trusts it", name, one.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(one.NotBefore):
		s.problem(object, path, hint, "%s is good from %s on only", name, one.NotBefore.UTC().Format(time.RFC3339))
	case one.NotAfter.Sub(now) < min(verySoon, lasts/10):
		s.problem(object, path, hint, "%s has %d days left, until %s", name, days, one.NotAfter.UTC().Format(time.DateOnly))
	case one.NotAfter.Sub(now) < min(soon, lasts/4):
		s.warn(object, path, hint, "%s has %d days left, until %s", name, days, one.NotAfter.UTC().Format(time.DateOnly))
	}
}

// authorities looks at the CAs that webhooks trust, each once.
func (l *looking) authorities(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		const hint = "Put the CA of Sallyport's certificate there, in base64: tls.existingSecret.caBundle of the chart, or cert-manager's annotation."
		seen := map[string]bool{}
		var first time.Time
		for i := range found.Webhooks {
			w := &found.Webhooks[i]
			bundle := string(w.Leads.CABundle)
			if seen[bundle] || !w.Ours {
				continue
			}
			seen[bundle] = true
			object := "webhook " + w.String()
			if bundle == "" {
				s.problem(object, "clientConfig.caBundle", hint, "it is empty, so that only CAs of the API server's machine are trusted")
				continue
			}
			all, err := certificatesOf(w.Leads.CABundle)
			if err != nil {
				s.problem(object, "clientConfig.caBundle", hint, "%s", err)
				continue
			}
			for _, one := range all {
				l.left(s, object, "clientConfig.caBundle", hint, one)
				if first.IsZero() || one.NotAfter.Before(first) {
					first = one.NotAfter
				}
			}
		}
		if len(seen) == 0 {
			s.put(Unknown, "", "", "", "there are no webhooks")
			return
		}
		s.ok("the CAs that webhooks trust have %d days left", int(first.Sub(l.now())/(24*time.Hour)))
	})
}

// served looks at the certificate that Sallyport serves: of a URL at its address, of the
// Deployment in its Secret.
func (l *looking) served(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		lead := found.Canary
		const hint = "Renew it, and have its CA in caBundle: with cert-manager, kubectl cert-manager renew; else put a new one into the Secret, and Sallyport takes it up."
		var all []*x509.Certificate
		var err error
		var object string
		switch {
		case lead == nil:
			s.put(Unknown, "", "", "", "no webhook asks about exceptions, by which it is found where they lead")
			return
		case lead.URL != nil:
			object = *lead.URL
			all, err = l.servedAt(ctx, lead)
		default:
			object, all, err = l.servedFrom(ctx)
		}
		if err != nil && distrusted(err) {
			s.problem(object, "", hint, "the CA that webhooks trust does not vouch for the certificate that is served: %s", err)
			return
		}
		if err != nil || len(all) == 0 {
			s.unknown("which certificate is served is not known; webhooks.answered says whether the API server trusts it", err)
			return
		}
		if lead.URL == nil {
			if err := l.vouched(lead.CABundle, all, "sallyport."+l.Namespace+".svc"); err != nil {
				s.problem(object, "tls.crt", hint, "the CA that webhooks trust does not vouch for it: %s", err)
			}
		}
		l.left(s, object, "", hint, all[0])
		s.ok("the certificate that is served has %d days left", int(all[0].NotAfter.Sub(l.now())/(24*time.Hour)))
	})
}

// distrusted reports whether an error says that a certificate is not to be trusted, and
// not that there was none.
func distrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}

func (l *looking) servedAt(ctx context.Context, lead *admissionregistrationv1.WebhookClientConfig) ([]*x509.Certificate, error) {
	at, err := url.Parse(*lead.URL)
	if err != nil {
		return nil, err
	}
	if l.Dial == nil {
		return nil, errors.New("it was not looked at")
	}
	address := at.Host
	if at.Port() == "" {
		address = net.JoinHostPort(at.Hostname(), "443")
	}
	roots, err := pool(lead.CABundle)
	if err != nil {
		return nil, err
	}
	return l.Dial(ctx, address, roots)
}

func pool(bundle []byte) (*x509.CertPool, error) {
	all, err := certificatesOf(bundle)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	for _, one := range all {
		roots.AddCert(one)
	}
	return roots, nil
}

// servedFrom reads the certificate in the Secret that the Deployment mounts.
func (l *looking) servedFrom(ctx context.Context) (object string, all []*x509.Certificate, err error) {
	d, err := l.workload(ctx)
	if err != nil || d == nil {
		return "", nil, errors.Join(err, errors.New("there is no Deployment whose Secret could be read"))
	}
	for i := range d.Spec.Template.Spec.Volumes {
		v := &d.Spec.Template.Spec.Volumes[i]
		if v.Secret == nil || v.Name != "tls" {
			continue
		}
		object = "Secret " + d.Namespace + "/" + v.Secret.SecretName
		secret, err := l.API.CoreV1().Secrets(d.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return object, nil, err
		}
		all, err = certificatesOf(secret.Data[corev1.TLSCertKey])
		return object, all, err
	}
	return "", nil, errors.New("the Deployment mounts no Secret as the volume tls")
}

// vouched says why a CA does not vouch for a chain.
func (l *looking) vouched(bundle []byte, chain []*x509.Certificate, name string) error {
	roots, err := pool(bundle)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, one := range chain[1:] {
		between.AddCert(one)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: name, CurrentTime: l.now()})
	return err
}
