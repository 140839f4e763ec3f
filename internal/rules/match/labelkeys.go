package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// LabelKeys are the keys of the labels that something goes by.
type LabelKeys struct {
	Names []string
	// All is set where any label can matter.
	All bool
}

// Any reports whether there is any.
func (k *LabelKeys) Any() bool { return k.All || len(k.Names) > 0 }

// Has reports whether one of the keys is among them.
func (k *LabelKeys) Has(keys []string) bool {
	return k.All && len(keys) > 0 || slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(k.Names, key) })
}

// Add adds those of something else.
func (k *LabelKeys) Add(other LabelKeys) {
	k.All = k.All || other.All
	for _, name := range other.Names {
		if !slices.Contains(k.Names, name) {
			k.Names = append(k.Names, name)
		}
	}
}

// KeysOf are the keys that a selector goes by; nil goes by none.
func KeysOf(s labels.Selector) LabelKeys {
	var keys LabelKeys
	if s == nil {
		return keys
	}
	requirements, selectable := s.Requirements()
	if !selectable {
		return keys
	}
	for _, r := range requirements {
		keys.Add(LabelKeys{Names: []string{r.Key()}})
	}
	return keys
}

func (s *selector) keys() LabelKeys {
	keys := KeysOf(s.expressions)
	for i := range s.labels {
		if p := &s.labels[i]; p.key.pattern {
			keys.All = true
		} else {
			keys.Add(LabelKeys{Names: []string{p.key.text}})
		}
	}
	return keys
}

// LabelKeys are the keys that the filter goes by.
func (n *Namespaces) LabelKeys() LabelKeys {
	var keys LabelKeys
	if n == nil {
		return keys
	}
	for _, s := range n.selectors {
		keys.Add(KeysOf(s))
	}
	return keys
}
