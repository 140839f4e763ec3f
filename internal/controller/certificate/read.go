package certificate

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// reader reads a Secret.
type reader struct {
	secret *corev1.Secret
	names  []string
	now    time.Time
	// known are the CAs that are vouched for: those that webhooks trust, that of what this
	// replica shows, and the one that it made itself. Who may write the Secret cannot add
	// to them. With all, every CA is: nothing is trusted yet, or it is not known what is.
	known []*x509.Certificate
	all   bool

	*content
}

// read reads a Secret. What cannot be used is left out, said, and kept aside.
func (r *reader) read() *content {
	s := r.secret
	r.content = &content{unused: s.Data[unusedKey], vouched: s.Annotations[annotationVouched]}
	if rotate := s.Annotations[AnnotationRotate]; rotate == RotateCA || rotate == CallersHaveIt {
		r.rotate = rotate
	} else if rotate != "" {
		r.problems = append(r.problems, fmt.Sprintf("the annotation %s of the Secret %s/%s is %q; %s or %s is expected", AnnotationRotate, s.Namespace, s.Name, rotate, RotateCA, CallersHaveIt))
	}
	r.trusted, r.shown = since(s, annotationTrusted, r.now), since(s, annotationShown, r.now)
	listed := r.listed()
	// A key is as good as the CA that it fits is known, wherever that stands.
	chain, _ := selfsigned.Certificates(s.Data[certKey])
	around := add(slices.Clone(listed), r.known...)
	for _, c := range chain {
		if r.all && selfsigned.CheckCA(c) == nil {
			around = add(around, c)
		}
	}
	r.ca = r.signer(caKey, around)
	if r.next = r.signer(nextCAKey, around); r.next == nil {
		r.vouched = ""
	}
	r.pair = r.readPair(around)
	for _, ca := range r.bundle {
		if !holds(listed, ca) {
			r.problem(BundleKey, fmt.Errorf("the CA %s, which is in use, is not in it", fingerprint(ca)))
		}
	}
	for _, ca := range r.strange {
		r.problem(BundleKey, fmt.Errorf("no webhook trusts the CA %s, and no replica that is known here shows a certificate of it, so it is not handed on: if it is yours, put it into the caBundle of one of the webhooks, which vouches for it; if not, take it out", fingerprint(ca)))
		r.setAside(selfsigned.PEM(ca))
	}
	r.lost = !slices.ContainsFunc(r.bundle, func(ca *x509.Certificate) bool { return r.now.Before(ca.NotAfter) })
	if r.lost && len(r.strange) == 0 {
		r.problem(BundleKey, fmt.Errorf("there is no CA in it that has not ended"))
	}
	return r.content
}

// listed are the CAs of ca.crt, those first that are vouched for.
func (r *reader) listed() []*x509.Certificate {
	found, err := selfsigned.Certificates(r.secret.Data[BundleKey])
	if err != nil {
		r.problem(BundleKey, err)
	}
	var listed []*x509.Certificate
	for _, ca := range found {
		if err := selfsigned.CheckCA(ca); err != nil {
			r.problem(BundleKey, err)
			continue
		}
		listed = add(listed, ca)
		if r.all || holds(r.known, ca) {
			r.bundle = add(r.bundle, ca)
		}
	}
	// What the CA that signs vouches for was put there by who has its key.
	if ca, _ := selfsigned.ReadCA(add(slices.Clone(r.bundle), r.known...), r.secret.Data[caKey]); ca != nil {
		for _, next := range listed {
			if ca.Vouches(next, r.vouched) {
				r.bundle = add(r.bundle, next)
			}
		}
	}
	for _, ca := range listed {
		if !holds(r.bundle, ca) {
			r.strange = append(r.strange, ca)
		}
	}
	return listed
}

// signer is the CA of a key of the Secret, among these; nil where none can sign now.
func (r *reader) signer(key string, among []*x509.Certificate) *selfsigned.CA {
	text := r.secret.Data[key]
	if len(text) == 0 {
		if key == caKey && len(r.secret.Data[nextCAKey]) == 0 {
			r.problem(key, fmt.Errorf("it is not there"))
		}
		return nil
	}
	ca, err := selfsigned.ReadCA(among, text)
	if err == nil {
		err = ca.CheckNow(r.now)
	}
	if err == nil && holds(r.strange, ca.Certificate) {
		err = fmt.Errorf("it is that of a CA that nothing vouches for")
	}
	if err != nil {
		r.problem(key, err)
		r.setAside(text)
		return nil
	}
	r.bundle = add(r.bundle, ca.Certificate)
	return ca
}

// readPair reads the certificate, which one of these CAs signed; nil where it cannot be
// shown.
func (r *reader) readPair(among []*x509.Certificate) *served {
	cert, key := r.secret.Data[certKey], r.secret.Data[keyKey]
	if len(cert) == 0 || len(key) == 0 {
		// A CA that is not trusted yet signs nothing.
		if r.next == nil {
			r.problem(certKey, fmt.Errorf("it is not there, or %q is not", keyKey))
		}
		return nil
	}
	pair, err := selfsigned.Usable(cert, key, among, nil, r.now)
	if err != nil {
		r.problem(certKey, err)
		return nil
	}
	ca := selfsigned.Issuer(pair.Leaf, among)
	if ca == nil {
		r.problem(certKey, fmt.Errorf("no CA that is known signed it itself"))
		return nil
	}
	if _, err := selfsigned.Usable(cert, key, among, selfsigned.Permitted(ca, r.names), r.now); err != nil {
		r.problem(certKey, err)
		return nil
	}
	if holds(r.strange, ca) {
		r.problem(certKey, fmt.Errorf("it is of a CA that nothing vouches for"))
		r.setAside(cert)
		r.setAside(key)
		return nil
	}
	r.bundle = add(r.bundle, ca)
	return &served{pair, cert, key, ca}
}

// problem notes what is wrong with a key of the Secret.
func (r *reader) problem(key string, err error) {
	r.problems = append(r.problems, fmt.Sprintf("the key %q of the Secret %s/%s cannot be used: %v", key, r.secret.Namespace, r.secret.Name, err))
}

// setAside keeps what cannot be used, once.
func (r *reader) setAside(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(text) > mostUnused/2 || bytes.Contains(r.unused, text) {
		return
	}
	r.unused = slices.Concat(r.unused, text, []byte("\n"))
	for len(r.unused) > mostUnused {
		_, rest, more := bytes.Cut(r.unused[1:], []byte("-----BEGIN"))
		if !more {
			break
		}
		r.unused = append([]byte("-----BEGIN"), rest...)
	}
}
