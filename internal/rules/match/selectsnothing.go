package match

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// NothingSelected says of a selector that no labels can meet it.
func NothingSelected(s *metav1.LabelSelector, at *field.Path) []effect.Note {
	key, ok := SelectsNothing(s)
	if !ok {
		return nil
	}
	return []effect.Note{effect.MatchesNothing.Note(at, "selects nothing: what it asks of the label "+key+" cannot all hold; write what it is to have, or take out what contradicts it")}
}
