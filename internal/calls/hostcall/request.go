package hostcall

import (
	"slices"
	"strings"
)

// Request is what a call asks for, decoded. Two requests that ask for the same
// are equal as reflect.DeepEqual has it, whatever form they came in.
type Request interface {
	// About is a short description for messages.
	About() string
	normalise()
}

// Read asks for objects of the cluster.
type Read struct {
	Operation        Operation
	APIVersion, Kind string
	// Namespace is empty for ListAll and for objects without a namespace; Name is
	// set only for GetResource.
	Namespace, Name              string
	LabelSelector, FieldSelector string
	// FieldMasks are the fields that are wanted; all of them if there is none.
	FieldMasks []string
	// DisableCache asks for what the API server has now.
	DisableCache bool
}

// About names what is read.
func (r *Read) About() string {
	what := r.Operation.Verb() + " " + r.APIVersion + " " + r.Kind
	switch {
	case r.Name != "" && r.Namespace != "":
		return what + " " + r.Namespace + "/" + r.Name
	case r.Name != "":
		return what + " " + r.Name
	case r.Namespace != "":
		return what + " in namespace " + r.Namespace
	}
	return what
}

func (r *Read) normalise() {
	// Both forms are found in what policies send: /v1 and v1.
	r.APIVersion = strings.TrimPrefix(r.APIVersion, "/")
	slices.Sort(r.FieldMasks)
	r.FieldMasks = slices.Compact(r.FieldMasks)
	if len(r.FieldMasks) == 0 {
		r.FieldMasks = nil
	}
}

// CanI asks whether a user may do something.
type CanI struct {
	User   string
	UID    string
	Groups []string
	Extra  map[string][]string
	// What the user would do.
	Verb, Group, Version, Resource, Subresource, Namespace, Name string
	DisableCache                                                 bool
}

// About names who is asked about, and what.
func (c *CanI) About() string {
	resource := c.Resource
	if c.Subresource != "" {
		resource += "/" + c.Subresource
	}
	if c.Group != "" {
		resource += "." + c.Group
	}
	return "can_i " + c.Verb + " " + resource + " as " + c.User
}

func (c *CanI) normalise() {
	if len(c.Groups) == 0 {
		c.Groups = nil
	}
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
}

// Image asks for the digest, the manifest, or the manifest and configuration of
// an image.
type Image struct {
	Operation Operation
	Image     string
}

// About names the image.
func (i *Image) About() string { return i.Operation.Verb() + " of " + clip(i.Image) }
func (i *Image) normalise()    {}

// Lookup asks for the addresses of a host.
type Lookup struct{ Host string }

// About names the host.
func (l *Lookup) About() string { return "look up host " + clip(l.Host) }
func (l *Lookup) normalise()    {}

// Line is what a module writes to the log.
type Line struct{ Text []byte }

// About says that it is a log line.
func (l *Line) About() string { return "log" }
func (l *Line) normalise()    {}

// Certificate is one certificate.
type Certificate struct {
	// Encoding is Pem or Der.
	Encoding string
	Data     []byte
}

// Trust asks whether a certificate is trusted.
type Trust struct {
	Certificate Certificate
	// Chain holds the intermediates first and the root last. Without one the
	// certificate counts as trusted.
	Chain []Certificate
	// NotAfter is the time, as RFC 3339 writes it, at which the certificate must
	// be valid still; empty for any.
	NotAfter string
}

// About says what is asked.
func (t *Trust) About() string { return "is a certificate trusted" }

func (t *Trust) normalise() {
	if len(t.Chain) == 0 {
		t.Chain = nil
	}
}

// Verify asks whether an image is signed.
type Verify struct {
	// Type is SigstorePubKeyVerify, SigstoreKeylessVerify,
	// SigstoreKeylessPrefixVerify, SigstoreGithubActionsVerify or
	// SigstoreCertificateVerify.
	Type    string
	Image   string
	PubKeys []string
	// Keyless holds issuers with subjects, or with what URLs of subjects begin
	// with.
	Keyless          []Keyless
	Owner, Repo      string
	Certificate      []byte
	CertificateChain [][]byte
	// RequireRekorBundle belongs to SigstoreCertificateVerify.
	RequireRekorBundle bool
	Annotations        map[string]string
}

// Keyless is an identity that may have signed.
type Keyless struct{ Issuer, Subject string }

// About names the image.
func (v *Verify) About() string { return v.Type + " of " + clip(v.Image) }

func (v *Verify) normalise() {
	if len(v.PubKeys) == 0 {
		v.PubKeys = nil
	}
	if len(v.Keyless) == 0 {
		v.Keyless = nil
	}
	if len(v.CertificateChain) == 0 {
		v.CertificateChain = nil
	}
	if len(v.Annotations) == 0 {
		v.Annotations = nil
	}
}
