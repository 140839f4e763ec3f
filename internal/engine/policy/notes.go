package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// connectKinds are the ways in that are a CONNECT at the front door, as rules name
// them. The side door has nothing of what such a request carries.
var connectKinds = []struct{ kind, subresource string }{
	{"Pod", "exec"}, {"Pod", "attach"}, {"Pod", "portforward"}, {"Pod", "proxy"}, {"Service", "proxy"}, {"Node", "proxy"},
}

const frontDoorOnly = "is about %s, which rules judge at the front door only: the side door has neither what is run nor the container or the ports, and leaves it to the front door; it needs a webhook that asks about CONNECT to %s"

// atFrontDoor says which rules are about ways in, and so need the front door.
func atFrontDoor(rules []*rule) []effect.Note {
	var notes []effect.Note
	for i, r := range rules {
		at := field.NewPath("spec").Child("rules").Index(i).Child("match")
		r.match.Kinds(at, func(kind match.Kind, at *field.Path) {
			// A pattern is none of these names.
			name, _ := kind.Exact()
			for _, way := range connectKinds {
				if name == way.kind && kind.Subresource() == way.subresource {
					notes = append(notes, effect.Note{Path: at, Detail: fmt.Sprintf(frontDoorOnly, name+"/"+way.subresource, strings.ToLower(name)+"s/"+way.subresource)})
				}
			}
		})
	}
	return notes
}

// modulesAtFrontDoor is atFrontDoor for a module.
func modulesAtFrontDoor(spec *v1alpha1.AdmissionPolicySpec) []effect.Note {
	var notes []effect.Note
	for i := range spec.Rules {
		for j, resource := range spec.Rules[i].Resources {
			for _, way := range connectKinds {
				if resource == strings.ToLower(way.kind)+"s/"+way.subresource {
					notes = append(notes, effect.Note{Path: field.NewPath("spec").Child("rules").Index(i).Child("resources").Index(j), Detail: fmt.Sprintf(frontDoorOnly, resource, resource)})
				}
			}
		}
	}
	return notes
}

// NeedFrontDoor says which rules are about a way in and so give no opinion at the
// side door.
func (s *Set) NeedFrontDoor(kind, subresource string) []string {
	var said []string
	s.rules.about(schema.GroupKind{Kind: kind}, func(r *rule) {
		named := false
		r.match.Kinds(nil, func(k match.Kind, _ *field.Path) {
			name, _ := k.Exact()
			named = named || name == kind && k.Subresource() == subresource
		})
		if named {
			said = append(said, fmt.Sprintf("%s %s, rule %s, gives no opinion at the side door: it goes by what only the front door has; ask with --door admission",
				r.kind, qualified(r.namespace, r.policy), r.name))
		}
	})
	return said
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
