// Package output writes judgements: for people, for scripts, for CI servers, for
// code scanners and as objects of a cluster.
package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Format is a way to write a Judgement.
type Format string

// The formats.
const (
	Text   Format = "text"
	JSON   Format = "json"
	JUnit  Format = "junit"
	SARIF  Format = "sarif"
	Report Format = "report"
)

// Formats are all of them.
var Formats = []Format{Text, JSON, JUnit, SARIF, Report}

// ParseFormat finds a format by its name.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats, f) {
		return f, nil
	}
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = string(f)
	}
	return "", fmt.Errorf("there is no output format %q; there are %s", name, strings.Join(names, ", "))
}

// Judgement is what a command found, about one request or many.
type Judgement struct {
	// Decision holds the results of all requests.
	Decision decision.Decision
	// Places has, for each result of the decision, where its resource stands.
	Places []Place
	// Resources counts what was judged, Unruled those of it that no rule was about,
	// and Unchanged the updates that were not judged again, as nothing changed that
	// a rule could be about.
	Resources, Unruled, Unchanged int
	// Subject says in words what was asked, where that was one thing.
	Subject string
}

// InputKind is the kind in results about input that could not be read.
const InputKind = "Input"

// Place is where the resource of a result was read.
type Place struct {
	// File is empty for what was not read from a file.
	File string
	// Line that the resource begins on.
	Line int
	// Findings has the line of each finding of the result.
	Findings []int
}

// String is file:line.
func (p Place) String() string { return at(p.File, p.Line) }

// finding is the place of a finding as file:line.
func (p Place) finding(i int) string {
	if i < len(p.Findings) {
		return at(p.File, p.Findings[i])
	}
	return p.String()
}

func at(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Options are what the writing of text turns on.
type Options struct {
	// Color says whether text is coloured.
	Color bool
	// Verbose shows rules that passed, too.
	Verbose bool
	// Version of the program, for SARIF.
	Version string
}

// Write writes a Judgement.
func Write(w io.Writer, format Format, j *Judgement, o Options) error {
	switch format {
	case JSON:
		return writeJSON(w, &j.Decision)
	case JUnit:
		return writeJUnit(w, j)
	case SARIF:
		return writeSARIF(w, j, o.Version)
	case Report:
		return writeReports(w, j)
	default:
		return writeText(w, j, o)
	}
}

// outcome is what a result comes to for whoever reads it.
type outcome int

const (
	passed outcome = iota
	excused
	recorded
	warned
	unjudged
	failed
)

// outcomeOf takes a result by what follows from it: a failure that its policy
// merely records does not refuse anything.
func outcomeOf(r *decision.Result) outcome {
	switch {
	case r.Status == decision.Pass:
		return passed
	case r.Status == decision.Skip:
		return excused
	case r.Blocks() && r.Status == decision.Error && !r.FailClosed:
		return unjudged
	case r.Blocks():
		return failed
	case r.Warns():
		return warned
	default:
		return recorded
	}
}

// ruleName is the policy and the rule as one name, unique among all kinds.
func ruleName(r *decision.Result) string {
	return r.Kind + "/" + r.PolicyName() + "/" + r.Rule
}

func resourceName(r *decision.Resource) string {
	return strings.TrimSpace(r.Kind + " " + qualified(r.Namespace, r.Name))
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
