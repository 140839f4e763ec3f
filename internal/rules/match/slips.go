package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// shortestSlip is how long a name is from which on one that is a letter away from a
// kind of Kubernetes is taken for a slip: many custom kinds are as close to Role.
const shortestSlip = 6

// slip says of an entry that names no kind of Kubernetes, and one that is close to
// it, which one is likely to be meant; "" where none is. That there is no such kind
// cannot be known, as any name can be that of a custom kind.
func (k *Kind) slip() string {
	name := k.kind.text
	if k.kind.pattern || builtin[name] != nil || foreign[name] || !k.ofKubernetes() {
		return ""
	}
	meant := apijson.Misspelt(name, builtin)
	if len(name) < shortestSlip {
		meant = ""
	}
	for kind := range builtin {
		if strings.EqualFold(name, kind) || strings.EqualFold(name, pluralOf(kind)) {
			meant = kind
		}
	}
	switch {
	case meant != "":
		return fmt.Sprintf("matches nothing of Kubernetes, which has no kind %s; write %s, or give the group too where a custom kind is meant", name, meant)
	case !k.group.any:
		return fmt.Sprintf("matches nothing that is known: the group %q has no kind %s; it has %s", k.groupAsWritten(), name, strings.Join(k.kindsOfGroup(), ", "))
	}
	return ""
}

// BuiltIn reports whether the entry names a kind of Kubernetes, and no kind that others
// have by the same name.
func (k *Kind) BuiltIn() bool {
	name := k.kind.text
	return !k.kind.pattern && builtin[name] != nil && k.ofKubernetes() && !(k.group.any && foreign[name])
}

// ofKubernetes reports whether the entry can be about kinds of Kubernetes.
func (k *Kind) ofKubernetes() bool {
	return k.group.any || !k.group.pattern && BuiltInGroup(k.group.text)
}

func (k *Kind) kindsOfGroup() []string {
	i := slices.IndexFunc(builtinGroups, func(g group) bool { return g.name == k.group.text })
	return strings.Fields(builtinGroups[i].kinds)
}

// pluralOf is the resource of a kind.
func pluralOf(kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}
