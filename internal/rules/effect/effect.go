// Package effect lists what can be written into an object of ours, looks as if it
// did something, and does not: what is said of it, and what to write. Whatever
// compiles an object says it by these rules, so that files, the front door, check and
// the condition Effective say the same.
package effect

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Answer is what becomes of an object of which a rule holds.
type Answer string

const (
	// Refused objects are not accepted: not from files, and not by the API server.
	Refused Answer = "refused"
	// Warned objects work, except for the part that has no effect. Whoever writes one
	// is warned, check says it, with --strict as an error, and so does the condition
	// Effective.
	Warned Answer = "warned about"
	// Shown objects work as they are written, and come to nothing by what else there
	// is in the cluster. Only the condition Effective says it, as that changes.
	Shown Answer = "shown"
)

// Rule is one way to write what has no effect.
type Rule struct {
	// Reason names the rule in one word: the reason of the condition Effective.
	Reason string
	Answer Answer
	// Kinds and Field say where it is written, What what is written, and Write what
	// is right instead, each in words for people.
	Kinds, Field, What, Write string
	// detail is a format of what is said of a field; see Note and Error.
	detail string
}

// Note is what is said of a field that has less effect than it looks.
type Note struct {
	Rule *Rule
	Path *field.Path
	// Detail says what was found, and what to write.
	Detail string
}

// Note says it of a field at a path. args fill in the words of the rule.
func (r *Rule) Note(path *field.Path, args ...any) Note {
	return Note{r, path, fmt.Sprintf(r.detail, args...)}
}

// Error refuses the value of a field at a path. args fill in the words of the rule.
func (r *Rule) Error(path *field.Path, value any, args ...any) *field.Error {
	return field.Invalid(path, value, fmt.Sprintf(r.detail, args...))
}

// said is the detail of rules whose words are put together by what finds it out.
const said = "%s"

// Rules lists all of them, in the order in which the documentation has them.
func Rules() []*Rule { return slices.Concat(ofPatterns, ofStandards, ofMatches, ofPolicies) }
