package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kinds are the kinds of this group that are registered, without their lists, sorted.
var Kinds = sync.OnceValue(func() []string {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		panic(err) // our own kinds can be registered
	}
	ours := reflect.TypeFor[DenyPolicy]().PkgPath()
	var kinds []string
	for kind, of := range s.KnownTypes(GroupVersion) {
		if of.PkgPath() == ours && !strings.HasSuffix(kind, "List") {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
})

// Namespaced reports whether objects of a kind of this group are in namespaces. The
// others are cluster-wide.
func Namespaced(kind string) bool {
	switch kind {
	case "Policy", "AdmissionPolicy", "PolicyException", "PolicyExceptionRequest":
		return true
	}
	return false
}

// Plural is the resource of a kind of this group, in lower case.
func Plural(kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(GroupVersion.WithKind(kind))
	return plural.Resource
}
