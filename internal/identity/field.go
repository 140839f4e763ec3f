package identity

import (
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// fields reads what sources find in the kind of the object itself.
func (c *collector) fields(o *pod.Object) error {
	if c.set == nil || len(c.set.fields) == 0 {
		return nil
	}
	sources := c.set.fields[o.GVK.GroupKind()]
	if len(sources) == 0 {
		return nil
	}
	tree, err := o.Tree()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := c.field(s, tree); err != nil {
			return err
		}
	}
	return nil
}

// field reads the fields that one source names.
func (c *collector) field(s kindSource, tree map[string]any) error {
	named := false
	for _, lookup := range s.lookups {
		err := lookup.Each(tree, func(place string, value any) error {
			text, ok := value.(string)
			switch {
			case !ok:
				return c.wrong(place, "something else was found, a string belongs here")
			case !s.account:
				return c.add(s.identitySource, text, place)
			case text == "":
				return nil
			}
			named = true
			return c.account(s.identitySource, text, place)
		})
		if err != nil {
			return err
		}
	}
	if !s.account || named {
		return nil
	}
	return c.account(s.identitySource, "default", s.lookups[0].String())
}
