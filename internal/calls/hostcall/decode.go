package hostcall

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Peek reads of the payload of a read what names the resource, and nothing else:
// the apiVersion and the kind. Everything else stays unread, though a name that
// stands twice anywhere is an error already here.
func Peek(payload []byte) (apiVersion, kind string, err error) {
	if err := bounded(payload); err != nil {
		return "", "", err
	}
	err = apijson.Read(payload, func(d *apijson.Decoder) error {
		return object(d, members{"api_version": text(&apiVersion), "kind": text(&kind)})
	})
	if err == nil && (apiVersion == "" || kind == "") {
		err = errors.New("api_version and kind are needed to know the resource")
	}
	if err != nil {
		return "", "", fmt.Errorf("the payload of the host call cannot be read: %w", err)
	}
	r := Read{APIVersion: apiVersion}
	r.normalise()
	return r.APIVersion, kind, nil
}

// Decode reads the payload of a call.
func Decode(o Operation, payload []byte) (Request, error) {
	if err := bounded(payload); err != nil {
		return nil, err
	}
	if o == Log {
		return &Line{Text: payload}, nil
	}
	if !utf8.Valid(payload) {
		return nil, fmt.Errorf("the payload of %s cannot be read: it is not UTF-8", o)
	}
	request, err := decode(o, payload)
	if err != nil {
		return nil, fmt.Errorf("the payload of %s cannot be read: %w", o, err)
	}
	request.normalise()
	return request, nil
}

func bounded(payload []byte) error {
	if len(payload) > MaxPayload {
		return fmt.Errorf("the payload of the host call has %d bytes; at most %d are accepted", len(payload), MaxPayload)
	}
	return nil
}

func decode(o Operation, payload []byte) (Request, error) {
	switch o {
	case ListByNamespace, ListAll, GetResource:
		return decodeRead(o, payload)
	case MayI:
		return decodeCanI(payload)
	case ManifestDigest, Manifest, ManifestAndConfig:
		r := &Image{Operation: o}
		return r, decodeText(payload, &r.Image, "an image")
	case LookupHost:
		r := &Lookup{}
		return r, decodeText(payload, &r.Host, "a host")
	case CertificateTrusted:
		return decodeTrust(payload)
	case VerifyV1:
		return decodeVerifyV1(payload)
	case VerifyV2:
		return decodeVerify(payload)
	}
	return nil, fmt.Errorf("there is no operation %q", clip(string(o)))
}

func decodeText(payload []byte, into *string, what string) error {
	err := apijson.Read(payload, func(d *apijson.Decoder) error { return d.Decode(into) })
	if err == nil && *into == "" {
		err = fmt.Errorf("%s belongs there, as a JSON string", what)
	}
	return err
}

func decodeRead(o Operation, payload []byte) (*Read, error) {
	r := &Read{Operation: o}
	known := members{
		"api_version": text(&r.APIVersion), "kind": text(&r.Kind),
		"field_masks": texts(&r.FieldMasks), "disable_cache": flag(&r.DisableCache),
	}
	if o != ListAll {
		known["namespace"] = text(&r.Namespace)
	}
	if o == GetResource {
		known["name"] = text(&r.Name)
	} else {
		known["label_selector"], known["field_selector"] = text(&r.LabelSelector), text(&r.FieldSelector)
	}
	if err := apijson.Read(payload, func(d *apijson.Decoder) error { return object(d, known) }); err != nil {
		return nil, err
	}
	switch {
	case r.APIVersion == "" || r.Kind == "":
		return nil, errors.New("api_version and kind are needed")
	case o == GetResource && r.Name == "":
		return nil, errors.New("name is needed: one object is read")
	case o == ListByNamespace && r.Namespace == "":
		return nil, errors.New("namespace is needed: the objects of one namespace are listed")
	}
	return r, nil
}

func decodeTrust(payload []byte) (*Trust, error) {
	t := &Trust{}
	certificate := func(c *Certificate) members {
		return members{"encoding": text(&c.Encoding), "data": octets(&c.Data)}
	}
	err := apijson.Read(payload, func(d *apijson.Decoder) error {
		return object(d, members{
			"cert": func(d *apijson.Decoder) error { return object(d, certificate(&t.Certificate)) },
			"cert_chain": func(d *apijson.Decoder) error {
				return list(d, func() error {
					var c Certificate
					err := object(d, certificate(&c))
					t.Chain = append(t.Chain, c)
					return err
				})
			},
			"not_after": text(&t.NotAfter),
		})
	})
	if err != nil {
		return nil, err
	}
	for _, c := range append([]Certificate{t.Certificate}, t.Chain...) {
		if c.Encoding != "Pem" && c.Encoding != "Der" {
			return nil, fmt.Errorf("a certificate has the encoding %q; it is Pem or Der", clip(c.Encoding))
		}
	}
	return t, nil
}
