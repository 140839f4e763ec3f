package hostcall

import (
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// decodeCanI reads a question about rights. Modules write it in more than one
// way: the review as subject_access_review or request, its fields bare or below
// spec, and resource_attributes or resourceAttributes.
func decodeCanI(payload []byte) (*CanI, error) {
	c := &CanI{}
	var review, attributes bool
	body := once(&review, "the review", func(d *apijson.Decoder) error { return c.review(d, &attributes) })
	err := apijson.Read(payload, func(d *apijson.Decoder) error {
		return object(d, members{
			"subject_access_review": body, "request": body, "disable_cache": flag(&c.DisableCache),
		})
	})
	switch {
	case err != nil:
		return nil, err
	case !attributes:
		return nil, errors.New("subject_access_review.resource_attributes is needed")
	case c.User == "" && len(c.Groups) == 0:
		return nil, errors.New("subject_access_review.user is needed")
	case c.Verb == "" || c.Resource == "":
		return nil, errors.New("a verb and a resource are needed in resource_attributes")
	}
	return c, nil
}

func (c *CanI) review(d *apijson.Decoder, seen *bool) error {
	attributes := once(seen, "resource_attributes", func(d *apijson.Decoder) error {
		return object(d, members{
			"verb": text(&c.Verb), "group": text(&c.Group), "version": text(&c.Version),
			"resource": text(&c.Resource), "subresource": text(&c.Subresource),
			"namespace": text(&c.Namespace), "name": text(&c.Name),
			"fieldSelector": absent("fieldSelector"), "labelSelector": absent("labelSelector"),
			"field_selector": absent("field_selector"), "label_selector": absent("label_selector"),
		})
	})
	var user, uid, groups, extra bool
	known := members{
		"user": once(&user, "user", text(&c.User)), "uid": once(&uid, "uid", text(&c.UID)),
		"groups": once(&groups, "groups", texts(&c.Groups)), "extra": once(&extra, "extra", c.extra),
		"resource_attributes": attributes, "resourceAttributes": attributes,
		"non_resource_attributes": absent("non_resource_attributes"),
		"nonResourceAttributes":   absent("nonResourceAttributes"),
	}
	whole := members{"spec": func(d *apijson.Decoder) error { return object(d, known) }}
	for name, read := range known {
		whole[name] = read
	}
	return object(d, whole)
}

// absent refuses a field whose meaning would be lost.
func absent(name string) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error {
		if d.Kind() != apijson.Null {
			return fmt.Errorf("%s is not asked about here; only verbs on resources are", name)
		}
		return d.Skip()
	}
}

func (c *CanI) extra(d *apijson.Decoder) error {
	if d.Kind() == apijson.Null {
		return d.Skip()
	}
	c.Extra = map[string][]string{}
	return d.Object(func(name string) error {
		if len(c.Extra) >= maxEntries {
			return fmt.Errorf("extra has more than %d entries", maxEntries)
		}
		var values []string
		err := texts(&values)(d)
		c.Extra[name] = values
		return err
	})
}
