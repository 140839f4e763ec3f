package exception

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// Effects say what in the exception has less effect than it looks, whatever policies there
// are.
func (p *Exception) Effects() []effect.Note {
	var notes []effect.Note
	if detail := p.match.Contradiction(); detail != "" {
		at := field.NewPath("spec", "match", "all")
		if p.Names.Kind == KindRequest {
			// An entry may have its own.
			at, detail = field.NewPath("spec"), "exclude.all "+detail
		}
		notes = append(notes, effect.MatchesNothing.Note(at, detail))
	}
	p.conditions.Literals(func(path string, holds bool) {
		detail := "is false, so that nothing is excused; write when it is to be, or take the exception away"
		if holds {
			detail = "is true, which asks nothing of what is excused; write what it has to be, or take it out"
		}
		notes = append(notes, effect.ConditionFixed.Note(field.NewPath(path), detail))
	})
	return notes
}
