package clusterpolicy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// ConnectKinds are the ways in that are a CONNECT at the front door, as rules name
// them. The side door has nothing of what such a request carries.
var ConnectKinds = []struct{ Kind, Subresource string }{
	{"Pod", "exec"}, {"Pod", "attach"}, {"Pod", "portforward"}, {"Pod", "proxy"}, {"Service", "proxy"}, {"Node", "proxy"},
}

// FrontDoorOnly words, of a rule and of a resource, that only the front door judges it.
const FrontDoorOnly = "is about %s, which rules judge at the front door only: the side door has neither what is run nor the container or the ports, and leaves it to the front door; it needs a webhook that asks about CONNECT to %s"

// AtFrontDoor says which rules are about ways in, and so need the front door.
func AtFrontDoor(rules []*Rule) []effect.Note {
	var notes []effect.Note
	for i, r := range rules {
		at := field.NewPath("spec").Child("rules").Index(i).Child("match")
		r.Match.Kinds(at, func(kind match.Kind, at *field.Path) {
			// A pattern is none of these names.
			name, _ := kind.Exact()
			for _, way := range ConnectKinds {
				if name == way.Kind && kind.Subresource() == way.Subresource {
					notes = append(notes, effect.Note{Path: at, Detail: fmt.Sprintf(FrontDoorOnly, name+"/"+way.Subresource, strings.ToLower(name)+"s/"+way.Subresource)})
				}
			}
		})
	}
	return notes
}
