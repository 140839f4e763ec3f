package modulepolicy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// ModulesAtFrontDoor is AtFrontDoor for a module.
func ModulesAtFrontDoor(spec *v1alpha1.AdmissionPolicySpec) []effect.Note {
	var notes []effect.Note
	for i := range spec.Rules {
		for j, resource := range spec.Rules[i].Resources {
			for _, way := range clusterpolicy.ConnectKinds {
				if resource == strings.ToLower(way.Kind)+"s/"+way.Subresource {
					notes = append(notes, effect.Note{Path: field.NewPath("spec").Child("rules").Index(i).Child("resources").Index(j), Detail: fmt.Sprintf(clusterpolicy.FrontDoorOnly, resource, resource)})
				}
			}
		}
	}
	return notes
}
