package exception

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// everyNamespace is the reach of what is not bound to any.
const everyNamespace = "every namespace"

// reach says in words in which namespaces the passes excuse.
func reach(passes []*Exception) string {
	var names []string
	for _, p := range passes {
		switch {
		case p.bound:
			names = append(names, p.namespace)
		case !p.match.NamesEveryNamespace():
			return everyNamespace
		default:
			p.match.Namespaces(field.NewPath(""), func(pattern string, _ *field.Path) { names = append(names, pattern) })
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if slices.ContainsFunc(names, func(name string) bool { return strings.Trim(name, "*") == "" }) {
		return everyNamespace
	}
	if len(names) == 1 {
		return "namespace " + names[0]
	}
	return "namespaces " + strings.Join(names, ", ")
}
