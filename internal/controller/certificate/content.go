package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// Keys of the Secret. BundleKey has the CAs that callers are to trust, and unusedKey what
// stood in the others and could not be used.
const (
	certKey   = corev1.TLSCertKey
	keyKey    = corev1.TLSPrivateKeyKey
	BundleKey = "ca.crt"
	caKey     = "ca.key"
	nextCAKey = "next-ca.key"
	unusedKey = "unused.pem"
)

// mostUnused bounds what is kept of what cannot be used, in bytes; the oldest goes.
const mostUnused = 64 << 10

// Annotations of the Secret: since when every caBundle has the next CA, since when a
// certificate of it is shown, by what the CA that signs vouches for the next, and what
// somebody wants: RotateCA for another CA, and CallersHaveIt once those have it to whom
// nobody else brings it.
const (
	annotationTrusted = "sallyport.io/next-ca-trusted-since"
	annotationShown   = "sallyport.io/ca-shown-since"
	annotationVouched = "sallyport.io/next-ca-vouched"
	AnnotationRotate  = "sallyport.io/rotate"
	RotateCA          = "ca"
	CallersHaveIt     = "callers-have-it"
)

// content is what a Secret holds, as far as it can be used.
type content struct {
	// bundle are the CAs that callers are to trust, and strange those in the Secret that
	// nothing vouches for.
	bundle, strange []*x509.Certificate
	// ca signs certificates, and next will; nil where there is none.
	ca, next *selfsigned.CA
	// pair is what is to be shown; nil where there is nothing that can be.
	pair *served
	// trusted and shown are the times of the annotations, vouched by what the next CA is
	// vouched for, and rotate what somebody wants; "" for nothing.
	trusted, shown  time.Time
	vouched, rotate string
	// lost is set where the CAs that callers are to trust are not known.
	lost bool
	// unused is what stands there and cannot be used.
	unused []byte
	// problems say what cannot be used, a sentence each.
	problems []string
}

// served is a certificate with its key, as it is shown.
type served struct {
	pair      *tls.Certificate
	cert, key []byte
	// ca signed it.
	ca *x509.Certificate
}

// usable reports whether it can be shown at this time.
func (s *served) usable(now time.Time) bool {
	return s != nil && now.Before(s.pair.Leaf.NotAfter) && !now.Before(s.pair.Leaf.NotBefore)
}

// since reads a time that is noted in the Secret. One that is still to come was noted by
// another clock, or by hand.
func since(secret *corev1.Secret, annotation string, now time.Time) time.Time {
	at, err := time.Parse(time.RFC3339, secret.Annotations[annotation])
	if err != nil || at.After(now) {
		return time.Time{}
	}
	return at
}

// put writes into a Secret what there is, and leaves what else it holds.
func (c *content) put(secret *corev1.Secret) {
	secret.Data, secret.Annotations = maps.Clone(secret.Data), maps.Clone(secret.Annotations)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Data[BundleKey] = text(c.bundle)
	for key, ca := range map[string]*selfsigned.CA{caKey: c.ca, nextCAKey: c.next} {
		if delete(secret.Data, key); ca != nil {
			secret.Data[key] = ca.Key
		}
	}
	// A Secret for TLS has to have both keys.
	secret.Data[certKey], secret.Data[keyKey] = []byte{}, []byte{}
	if c.pair != nil {
		secret.Data[certKey], secret.Data[keyKey] = c.pair.cert, c.pair.key
	}
	if len(c.unused) > 0 {
		secret.Data[unusedKey] = c.unused
	}
	for annotation, value := range map[string]string{annotationVouched: c.vouched, AnnotationRotate: c.rotate} {
		if delete(secret.Annotations, annotation); value != "" {
			secret.Annotations[annotation] = value
		}
	}
	for annotation, at := range map[string]time.Time{annotationTrusted: c.trusted, annotationShown: c.shown} {
		if delete(secret.Annotations, annotation); !at.IsZero() {
			secret.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
		}
	}
}

// empty is the Secret before anything is put in.
func empty(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeOpaque}
}

// text is a bundle in PEM.
func text(bundle []*x509.Certificate) []byte {
	var all []byte
	for _, ca := range bundle {
		all = append(all, selfsigned.PEM(ca)...)
	}
	return all
}

// add adds CAs that a bundle does not hold.
func add(bundle []*x509.Certificate, cas ...*x509.Certificate) []*x509.Certificate {
	for _, ca := range cas {
		if ca != nil && !holds(bundle, ca) {
			bundle = append(bundle, ca)
		}
	}
	return bundle
}

func holds(bundle []*x509.Certificate, ca *x509.Certificate) bool {
	return slices.ContainsFunc(bundle, ca.Equal)
}

// fingerprint is how a replica names the CA of the certificate that it shows.
func fingerprint(ca *x509.Certificate) string {
	sum := sha256.Sum256(ca.Raw)
	return hex.EncodeToString(sum[:16])
}
