package output

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// writeText writes for people: each resource that something is wrong with, its
// rules, a line for each finding, and a summary last.
func writeText(w io.Writer, j *Judgement, o Options) error {
	t := textWriter{w: bufio.NewWriter(w), paint: Painter(o.Color)}
	results := j.Decision.Results
	for from := 0; from < len(results); {
		to := from + 1
		for to < len(results) && results[to].Resource == results[from].Resource && results[to].Source == results[from].Source {
			to++
		}
		t.resource(results[from:to], j.Places[from:to], o.Verbose)
		from = to
	}
	if t.lines > 0 {
		t.line("")
	}
	t.summary(j)
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return nil
}

type textWriter struct {
	w     *bufio.Writer
	paint Painter
	lines int
}

// line writes a line. Writing fails at the end, when all is flushed.
func (t *textWriter) line(s string) {
	t.lines++
	_, _ = t.w.WriteString(strings.TrimRight(s, " ") + "\n")
}

// resource writes the results about one resource.
func (t *textWriter) resource(results []decision.Result, places []Place, verbose bool) {
	worst, refused := passed, false
	for i := range results {
		worst = max(worst, outcomeOf(&results[i]))
		refused = refused || results[i].Refused()
	}
	if worst == passed && !refused && !verbose {
		return
	}
	if t.lines > 0 {
		t.line("")
	}
	head := t.paint.outcome(worst, labels[worst]) + strings.Repeat(" ", labelWidth-len(labels[worst])) + t.paint.Bold(clean(resourceName(&results[0].Resource)))
	if where := places[0].String(); where != "" {
		head += "  " + t.paint.Dim(clean(where))
	}
	t.line(head)
	var blocking []*decision.Result
	for i := range results {
		if outcomeOf(&results[i]) != passed || results[i].Refused() || verbose {
			t.result(&results[i], places[i])
		}
		if results[i].Blocks() && results[i].Status == decision.Fail {
			blocking = append(blocking, &results[i])
		}
	}
	for _, r := range blocking {
		if r.SuggestedException == "" {
			continue
		}
		t.line("  " + t.paint.Dim("An exception to rule "+clean(r.Rule)+" would be asked for by:"))
		t.line("")
		for line := range strings.Lines(r.SuggestedException) {
			t.line("    " + clean(strings.TrimRight(line, "\n")))
		}
		t.line("")
	}
	if len(blocking) > 0 {
		t.line("  " + t.paint.Dim(clean(decision.Next(blocking))))
	}
}

// WriteResult writes one result in words: the rule, its message and a line for
// each finding.
func WriteResult(w io.Writer, r *decision.Result, place Place, color bool) error {
	t := textWriter{w: bufio.NewWriter(w), paint: Painter(color)}
	t.result(r, place)
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return nil
}

// result writes one result with its findings.
func (t *textWriter) result(r *decision.Result, place Place) {
	o := outcomeOf(r)
	t.line("  " + t.paint.outcome(o, marks[o]) + " " + t.paint.Bold(clean(r.Kind+" "+r.PolicyName())) + t.paint.Dim(" · "+clean(r.Rule)) + note(r))
	for line := range strings.Lines(r.Message) {
		t.line("    " + clean(strings.TrimRight(line, "\r\n")))
	}
	width, digits := 0, 0
	for _, line := range place.Findings {
		digits = max(digits, len(strconv.Itoa(line)))
	}
	for i := range r.Findings {
		width = max(width, utf8.RuneCountInString(location(&r.Findings[i])))
	}
	width = min(width, maxLocation)
	for i := range r.Findings {
		f := &r.Findings[i]
		where := location(f)
		line := "      "
		if i < len(place.Findings) {
			line += t.paint.Dim("line "+strconv.Itoa(place.Findings[i])) + strings.Repeat(" ", digits-len(strconv.Itoa(place.Findings[i]))+2)
		}
		line += t.paint.location(f)
		if f.Detail != "" {
			line += strings.Repeat(" ", max(width-utf8.RuneCountInString(where), 0)) + "  " + clean(f.Detail)
		}
		t.line(line)
	}
	if r.Context != nil {
		for i := range r.Context.Denied {
			t.line("      " + clean(r.Context.Denied[i].String()))
		}
	}
	for i := range r.Exceptions {
		// The message of what is excused names them already.
		if r.Status == decision.Skip {
			break
		}
		e := &r.Exceptions[i]
		how := "excused in part by "
		if r.Status != decision.Fail {
			how = "excused by "
		}
		t.line("      " + clean(how+e.Called()+exceptionNote(e)))
	}
}

// note says what the status alone does not: a failure that refuses nothing.
func note(r *decision.Result) string {
	switch {
	case outcomeOf(r) == recorded && r.Status == decision.Fail:
		return " (recorded, not enforced)"
	case outcomeOf(r) == recorded:
		return " (not judged, let through)"
	case r.Score != nil && (*r.Score > 0 || r.Status == decision.Pass):
		return " (risk score " + strconv.Itoa(*r.Score) + ")"
	default:
		return ""
	}
}

func exceptionNote(e *decision.Exception) string {
	note := ""
	if e.Reason != "" {
		note += ": " + e.Reason
	}
	if e.Requester != "" {
		note += ", asked for by " + e.Requester
	}
	if e.Approver != "" {
		note += ", approved by " + e.Approver
	}
	if e.ExpiresAt != "" {
		note += ", until " + e.ExpiresAt
	}
	return note
}

// location is the path of a finding with the value found there.
func location(f *decision.Finding) string {
	if f.Value == "" || f.Path == "" {
		return clean(f.Path)
	}
	return clean(f.Path + " = " + f.Value)
}

// clean makes what came out of a file fit for a terminal.
func clean(s string) string { return decision.Clean(s) }

// maxLocation bounds the column that details begin in: one long path must not
// push all of them off the screen.
const maxLocation = 72

// summary writes the last line.
func (t *textWriter) summary(j *Judgement) {
	d := &j.Decision
	n := d.Summary
	counts := fmt.Sprintf("%d pass, %d fail, %d warn, %d skip, %d error", n.Pass, n.Fail, n.Warn, n.Skip, n.Error)
	text := ". " + plural(j.Resources, "object", "objects") + " judged: " + counts
	switch {
	case j.Subject != "":
		text = ": " + clean(j.Subject) + " (" + counts + ")"
	default:
		if j.Unruled > 0 {
			text += "; " + strconv.Itoa(j.Unruled) + " with no rule about them"
		}
		if j.Unchanged > 0 {
			text += "; " + strconv.Itoa(j.Unchanged) + " not judged again, as nothing relevant changed"
		}
	}
	t.line(t.paint.Verdict(d.Verdict, verdicts[d.Verdict]) + text)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

var verdicts = map[decision.Verdict]string{
	decision.Allow: "Allowed", decision.AllowWarning: "Allowed with warnings", decision.Deny: "Denied", decision.VerdictError: "Could not be judged",
}

var verdictOutcomes = map[decision.Verdict]outcome{
	decision.Allow: passed, decision.AllowWarning: warned, decision.Deny: failed, decision.VerdictError: unjudged,
}

var labels = [...]string{passed: "PASS", excused: "SKIP", recorded: "AUDIT", warned: "WARN", failed: "DENY", unjudged: "ERROR"}

const labelWidth = len("ERROR") + 2

var marks = [...]string{passed: "✓", excused: "-", recorded: "~", warned: "!", failed: "✗", unjudged: "?"}
