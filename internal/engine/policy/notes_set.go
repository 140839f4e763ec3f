package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// NeedFrontDoor says which rules are about a way in and so give no opinion at the
// side door.
func (s *Set) NeedFrontDoor(kind, subresource string) []string {
	var said []string
	s.rules.About(schema.GroupKind{Kind: kind}, func(r *clusterpolicy.Rule) {
		named := false
		r.Match.Kinds(nil, func(k match.Kind, _ *field.Path) {
			name, _ := k.Exact()
			named = named || name == kind && k.Subresource() == subresource
		})
		if named {
			said = append(said, fmt.Sprintf("%s %s, rule %s, gives no opinion at the side door: it goes by what only the front door has; ask with --door admission",
				r.Kind, stored.Qualified(r.Namespace, r.Policy), r.Name))
		}
	})
	return said
}
