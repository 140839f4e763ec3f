package pod

import "fmt"

// Subtree finds the pod in the tree of its object: a map that has metadata and
// spec as a Pod has. It shares the memory of tree and must not be changed.
//
// An object in whose tree no map stands where the pod was read from is an error:
// the two readings of one object must not differ.
func (p *Pod) Subtree(tree map[string]any) (map[string]any, error) {
	if p.assembly != nil {
		return p.assembly.tree, nil
	}
	if p.Path == "" {
		return tree, nil
	}
	steps, err := parsePath(p.Path)
	if err != nil {
		return nil, err
	}
	var at any = tree
	for _, s := range steps {
		switch value := at.(type) {
		case map[string]any:
			at = value[s.name]
		case []any:
			if s.kind != element || s.at >= len(value) {
				return nil, p.notThere()
			}
			at = value[s.at]
		default:
			return nil, p.notThere()
		}
	}
	found, ok := at.(map[string]any)
	if !ok {
		return nil, p.notThere()
	}
	if p.bare {
		return map[string]any{"spec": found}, nil
	}
	return found, nil
}

func (p *Pod) notThere() error { return fmt.Errorf("no pod stands at %s of the object", p.Path) }
