package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

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
