package match

import "strings"

// ResourceNamed reports whether an entry of the resources of a webhook's rule is about
// a resource, or about a subresource of it, as API servers read it: "pods/*" is about
// pods too. subresource is empty for the resource itself.
func ResourceNamed(entry, resource, subresource string) bool {
	name, sub, _ := strings.Cut(entry, "/")
	return (name == "*" || name == resource) && (sub == "*" || sub == subresource)
}
