package regodata

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// tree is an object of JSON: each value is a *tree or JSON itself.
type tree map[string]any

// below gives the object under a name, which is made if it is not there.
func (t tree) below(name string) tree {
	child, ok := t[name].(tree)
	if !ok {
		child = tree{}
		t[name] = child
	}
	return child
}

func (t tree) append(out []byte) []byte {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			out = append(out, ',')
		}
		// A name that is not valid UTF-8 was not let in by the decoder.
		out, _ = jsontext.AppendQuote(out, name)
		out = append(out, ':')
		switch value := t[name].(type) {
		case tree:
			out = value.append(out)
		case []byte:
			out = append(out, value...)
		}
	}
	return append(out, '}')
}

// layOut puts the objects where policies of the mode look for them.
func layOut(mode wasm.RegoMode, answers []answer) (json.RawMessage, error) {
	root, size := tree{}, 64
	if mode == wasm.ModeGatekeeper {
		root["cluster"], root["namespace"] = tree{}, tree{}
	}
	plurals := map[string]contextgate.Resource{}
	for _, a := range answers {
		r := a.resource
		if mode == wasm.ModeOPA {
			if other, taken := plurals[r.Resource]; taken {
				return nil, fmt.Errorf("a policy of the mode %s reads %s of %s and of %s, and finds both under data.kubernetes.%s; grant one of them", mode, r.Kind, other.APIVersion(), r.APIVersion(), r.Resource)
			}
			plurals[r.Resource] = r
			root.below(r.Resource)
		}
		size += len(a.list)
		err := objects(a.list, func(namespace, name string, raw []byte) error {
			at := place(root, mode, r, namespace)
			if _, twice := at[name]; twice {
				return fmt.Errorf("%s %q is listed twice", r, name)
			}
			at[name] = raw
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("the list of %s cannot be read: %w", r, err)
		}
	}
	return root.append(make([]byte, 0, size)), nil
}

// place is the object in which the objects of a resource in one namespace stand by
// their names.
func place(root tree, mode wasm.RegoMode, r contextgate.Resource, namespace string) tree {
	switch {
	case mode == wasm.ModeGatekeeper && namespace != "":
		return root.below("namespace").below(namespace).below(r.APIVersion()).below(r.Kind)
	case mode == wasm.ModeGatekeeper:
		return root.below("cluster").below(r.APIVersion()).below(r.Kind)
	case namespace != "":
		return root.below(r.Resource).below(namespace)
	}
	return root.below(r.Resource)
}

// objects gives each object of a list to each.
func objects(list []byte, each func(namespace, name string, raw []byte) error) error {
	return apijson.Read(list, func(d *apijson.Decoder) error {
		return d.Object(func(field string) error {
			if field != "items" || d.Kind() == apijson.Null {
				return d.Skip()
			}
			return d.List(func(int) error {
				raw, err := d.Raw()
				if err != nil {
					return err
				}
				var o struct {
					Metadata struct {
						Name      string `json:"name"`
						Namespace string `json:"namespace"`
					} `json:"metadata"`
				}
				if err := apijson.Unmarshal(raw, &o); err != nil {
					return err
				}
				if o.Metadata.Name == "" {
					return errors.New("an object in it has no name")
				}
				return each(o.Metadata.Namespace, o.Metadata.Name, slices.Clone(raw))
			})
		})
	})
}
