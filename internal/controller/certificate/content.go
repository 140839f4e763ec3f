package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// Keys of the Secret. BundleKey has the CAs that callers are to trust.
const (
	certKey   = corev1.TLSCertKey
	keyKey    = corev1.TLSPrivateKeyKey
	BundleKey = "ca.crt"
	caKey     = "ca.key"
	nextCAKey = "next-ca.key"
)

// Annotations of the Secret: since when every caBundle has the next CA, since when a
// certificate of it is shown, and what somebody wants to be replaced at once: RotateCA.
const (
	annotationTrusted = "sallyport.io/next-ca-trusted-since"
	annotationShown   = "sallyport.io/ca-shown-since"
	AnnotationRotate  = "sallyport.io/rotate"
	RotateCA          = "ca"
)

// content is what a Secret holds, as far as it can be used.
type content struct {
	// bundle are the CAs that callers are to trust.
	bundle []*x509.Certificate
	// ca signs certificates, and next will; nil where there is none.
	ca, next *selfsigned.CA
	// pair is what is to be shown; nil where there is nothing that can be.
	pair *served
	// trusted and shown are the times of the annotations.
	trusted, shown time.Time
	rotate         bool
	// lost is set where the CAs that callers are to trust are not known.
	lost bool
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

// sentence is what is said of a key of the Secret.
func sentence(secret *corev1.Secret, key, format string, args ...any) string {
	return fmt.Sprintf("the key %q of the Secret %s/%s cannot be used: %s", key, secret.Namespace, secret.Name, fmt.Sprintf(format, args...))
}

// read reads a Secret. What cannot be used is left out and said.
func read(secret *corev1.Secret, names []string, now time.Time) *content {
	c := &content{rotate: secret.Annotations[AnnotationRotate] == RotateCA}
	c.trusted, c.shown = since(secret, annotationTrusted, now), since(secret, annotationShown, now)
	problem := func(key string, err error) {
		c.problems = append(c.problems, sentence(secret, key, "%v", err))
	}
	found, err := selfsigned.Certificates(secret.Data[BundleKey])
	if err != nil {
		problem(BundleKey, err)
	}
	for _, ca := range found {
		if err := selfsigned.CheckCA(ca); err != nil {
			problem(BundleKey, err)
			continue
		}
		if now.Before(ca.NotAfter) {
			c.bundle = add(c.bundle, ca)
		}
	}
	if c.lost = len(c.bundle) == 0; c.lost {
		c.problems = append(c.problems, sentence(secret, BundleKey, "there is no CA in it that has not ended"))
	}
	signer := func(key string) *selfsigned.CA {
		if len(secret.Data[key]) == 0 {
			if key == caKey && len(secret.Data[nextCAKey]) == 0 {
				c.problems = append(c.problems, sentence(secret, key, "it is not there"))
			}
			return nil
		}
		ca, err := selfsigned.ReadCA(c.bundle, secret.Data[key])
		if err != nil {
			problem(key, err)
			return nil
		}
		return ca
	}
	c.ca, c.next = signer(caKey), signer(nextCAKey)
	c.readPair(secret, names, now)
	return c
}

func (c *content) readPair(secret *corev1.Secret, names []string, now time.Time) {
	cert, key := secret.Data[certKey], secret.Data[keyKey]
	if len(cert) == 0 || len(key) == 0 {
		// A CA that is not trusted yet signs nothing.
		if c.next == nil {
			c.problems = append(c.problems, sentence(secret, certKey, "it is not there, or %q is not", keyKey))
		}
		return
	}
	pair, err := selfsigned.Usable(cert, key, c.bundle, names, now)
	if err != nil {
		c.problems = append(c.problems, sentence(secret, certKey, "%v", err))
		return
	}
	if ca := selfsigned.Issuer(pair.Leaf, c.bundle); ca != nil {
		c.pair = &served{pair, cert, key, ca}
		return
	}
	c.problems = append(c.problems, sentence(secret, certKey, "no CA of %q signed it itself", BundleKey))
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
	for annotation, at := range map[string]time.Time{annotationTrusted: c.trusted, annotationShown: c.shown} {
		if delete(secret.Annotations, annotation); !at.IsZero() {
			secret.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
		}
	}
	if !c.rotate {
		delete(secret.Annotations, AnnotationRotate)
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
