package standard

import (
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Violation is one check that a pod does not pass.
type Violation struct {
	// ID of the check in the library, such as "capabilities_restricted".
	ID string
	// Control is the name of the check on the page of the Pod Security
	// Standards, such as "Capabilities".
	Control string
	// Level that the check belongs to: baseline or restricted.
	Level v1alpha1.StandardLevel
	// Reason and Detail are the words of the PodSecurity admission plugin.
	// Detail may be empty.
	Reason, Detail string
	// Findings are all the fields that break the check, at least one. They can
	// be more than Detail speaks of: the library names what is missing only
	// where nothing is set wrongly, and one kind of source for each volume.
	Findings []decision.Finding

	// step found it, and found these, before anything was excused.
	step *step
	all  []decision.Finding
	// under is what the pod violates of the checks that the step took the place
	// of, as far as it is not excused. Nil where nobody has looked.
	under *[]Violation
}

// Message puts violations into one line as the PodSecurity admission plugin
// does: each reason, with its detail in parentheses, in the order given.
func Message(violations []Violation) string {
	var b strings.Builder
	for i := range violations {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(violations[i].Reason)
		if detail := violations[i].Detail; detail != "" {
			b.WriteString(" (")
			b.WriteString(detail)
			b.WriteByte(')')
		}
	}
	return b.String()
}
