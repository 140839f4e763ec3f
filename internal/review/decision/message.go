package decision

import (
	"strconv"
	"strings"
)

// valueLimit is how much of a field's value is quoted in a message: an image
// with a digest fits, a whole annotation does not have to.
const valueLimit = 160

// Reason words a refusal in one line: what was refused, by which policy and
// rule, where (field path and value), and what to do next. subject is what
// Subject says of the request. Everything that speaks against the request is
// named, in the order of the results; what goes beyond limit bytes is counted as
// "... and N more". It is empty for a decision that refuses nothing.
func Reason(subject string, d *Decision, limit int) string {
	var blocking []*Result
	failed := false
	for i := range d.Results {
		if r := &d.Results[i]; r.Blocks() {
			blocking = append(blocking, r)
			failed = failed || r.Status == Fail
		}
	}
	if len(blocking) == 0 {
		return ""
	}
	next := " " + Next(blocking)
	text := reason(subject, blocking, failed, limit-len(next), false)
	if len(blocking) > 1 && strings.Contains(text, ellipsis) {
		text = reason(subject, blocking, failed, limit-len(next), true)
	}
	return cut(text+next, limit)
}

// minShare is how much of a result is worth showing.
const minShare = 120

// reason words the results. With shares, where not all of them fit, each has as
// much room as the others, so that the first does not take it all: what everybody
// wants to know of a result stands at its beginning.
func reason(subject string, blocking []*Result, failed bool, limit int, shares bool) string {
	w := writer{limit: limit - len(". "+ellipsis+" and 0000 more"), told: !failed && len(blocking) > 1}
	w.text(cut(subject, max(w.limit/2, 0)))
	w.text(head(len(blocking), failed))
	if shares {
		if w.share = (w.limit - w.b.Len()) / len(blocking); w.share < minShare {
			w.share = 0
		}
	}
	for i, r := range blocking {
		label := ""
		if len(blocking) > 1 {
			label = "(" + strconv.Itoa(i+1) + ") "
		}
		if i > 0 {
			label = "; " + label
		}
		w.result(label, r)
	}
	return w.end()
}

func head(rules int, failed bool) string {
	switch {
	case failed && rules == 1:
		return " is denied by "
	case failed:
		return " is denied by " + strconv.Itoa(rules) + " rules: "
	case rules == 1:
		return " is refused, because "
	default:
		return " is refused, because " + strconv.Itoa(rules) + " rules cannot be judged: "
	}
}

// KindOwn is the kind of results of Sallyport's own rules, which no exception excuses.
const KindOwn = "Sallyport"

// Next says what somebody whose request was refused by these results can do.
func Next(blocking []*Result) string {
	var failed, broken *Result
	for _, r := range blocking {
		if r.Remedy == RemedyMend && broken == nil {
			broken = r
		}
		// What somebody can change himself is of more use than whom to ask.
		if r.Status == Fail && (failed == nil || len(failed.Findings) == 0 && len(r.Findings) > 0) {
			failed = r
		}
	}
	if failed == nil && broken != nil {
		return "Next: have " + owner(broken) + " corrected or deleted by those who may write it; its status says what is wrong."
	}
	if failed == nil {
		return "Next: try again; if it stays so, ask those who run Sallyport, whose log holds the cause."
	}
	change, ask := "change these fields", "ask for an exception to "+owner(failed)+" with a PolicyExceptionRequest"
	if failed.Kind == KindOwn {
		// No exception names Sallyport itself.
		ask = "ask those who run Sallyport"
	}
	switch failed.Remedy {
	case RemedyCorrect:
		return "Next: correct these fields, and send the policy again."
	case RemedyGrant:
		return "Next: have that rule bound to you by a ClusterRoleBinding, or " + ask + "."
	case RemedyAnnotation:
		return "Next: leave the annotation out."
	case RemedyOperator:
		return "Next: ask those who run Sallyport."
	case RemedyRight:
		change, ask = "leave these labels out", "ask the owners of "+owner(failed)+" for the right to set them"
	case RemedyExemption:
		change = "use a pod without these settings"
	}
	if len(failed.Findings) == 0 {
		return "Next: " + ask + "."
	}
	return "Next: " + change + ", or " + ask + "."
}

// owner names the policy of a result.
func owner(r *Result) string {
	return cut(Clean(r.Kind+" "+qualified(r.PolicyNamespace, r.Policy)), valueLimit)
}

// Line words one result: policy and rule, message, and each finding, in at most
// limit bytes.
func Line(r *Result, limit int) string {
	w := writer{limit: limit - len(ellipsis+" and 0000 more ")}
	w.result("", r)
	return cut(w.end(), limit)
}

// Warnings words each result that lets the request in with a warning, and has
// what modules have to say to whoever asked, in order:
// at most count lines, which is at least one, of at most limit bytes. What is said of
// a policy to whoever writes it is a line for each finding, which may be twice as long
// and counts twice: cut, it would not say what to write.
func Warnings(d *Decision, count, limit int) []string {
	w := warnings{count: count}
	for i := range d.Results {
		r := &d.Results[i]
		switch {
		case !r.Warns():
		case r.Remedy == RemedyCorrect && len(r.Findings) > 0:
			for j := range r.Findings {
				w.add(cut(owner(r)+": "+aboutPolicy(&r.Findings[j]), 2*limit), 2)
			}
		default:
			w.add(Line(r, limit), 1)
		}
		for _, text := range r.Warnings {
			w.add(cut(Clean(r.PolicyName()+": "+text), limit), 1)
		}
	}
	if w.left > 0 && len(w.lines) > 0 {
		w.lines[len(w.lines)-1] = ellipsis + " and " + strconv.Itoa(w.left+1) + " more warnings"
	}
	return w.lines
}

// warnings are lines up to a count, and how many did not fit.
type warnings struct {
	lines             []string
	count, used, left int
}

// add adds a line that counts as cost lines. The first is always there.
func (w *warnings) add(line string, cost int) {
	if w.left > 0 || len(w.lines) > 0 && w.used+cost > w.count {
		w.left++
		return
	}
	w.used += cost
	w.lines = append(w.lines, line)
}

// aboutPolicy words a finding in a policy for whoever writes it.
func aboutPolicy(f *Finding) string {
	if f.Path == "" {
		return Clean(f.Detail)
	}
	return Clean(f.Path + ": " + f.Detail)
}

// writer collects a message up to its limit and counts what did not fit.
type writer struct {
	b     strings.Builder
	limit int
	left  int
	// share is how much room each result has; zero: as much as there is.
	share int
	// told: the message says already that its results cannot be judged.
	told bool
}

// text adds s if it fits and reports whether it did.
func (w *writer) text(s string) bool {
	if w.left > 0 || w.b.Len()+len(s) > w.limit {
		return false
	}
	w.b.WriteString(s)
	return true
}

// result adds one result after a label. The first is cut to fit, so that there
// always is one; of a later one that does not fit, every finding is counted.
func (w *writer) result(label string, r *Result) {
	message := strings.TrimRight(Clean(r.Message), ". ")
	text := label + owner(r)
	if r.Rule != "" {
		text += ", rule " + cut(Clean(r.Rule), valueLimit)
	}
	if r.Status == Error && !w.told {
		text += ", cannot be judged"
	}
	if message != "" {
		text += ": " + message
	}
	room := w.limit - w.b.Len()
	if w.share > 0 && w.share <= room {
		w.shared(text, r)
		return
	}
	switch {
	case w.left > 0 || len(text) > room && label != "" && strings.HasPrefix(label, ";"):
		w.left += max(len(r.Findings), 1)
		return
	case len(text) > room:
		w.b.WriteString(cut(text, room))
		w.left += len(r.Findings)
		return
	}
	w.b.WriteString(text)
	for i := range r.Findings {
		if !w.text(nextFinding(r, i, message)) {
			w.left++
		}
	}
}

// shared adds as much of a result as its share has room for. What is cut off it,
// and its findings that do not fit, are counted.
func (w *writer) shared(text string, r *Result) {
	until := w.b.Len() + w.share
	if len(text) > w.share {
		w.b.WriteString(cut(text, w.share))
		w.left += max(len(r.Findings), 1)
		return
	}
	w.b.WriteString(text)
	for i := range r.Findings {
		one := nextFinding(r, i, text)
		if w.b.Len()+len(one) > until {
			w.left += len(r.Findings) - i
			return
		}
		w.b.WriteString(one)
	}
}

// nextFinding words a finding of a result with what stands before it.
func nextFinding(r *Result, i int, message string) string {
	f, separator := &r.Findings[i], ", "
	switch {
	case i > 0:
	case f.Path == "":
		separator = "; "
	default:
		separator = "; at "
	}
	return separator + finding(f, message)
}

// end gives the message with a full stop, or with what did not fit.
func (w *writer) end() string {
	if w.left > 0 {
		return w.b.String() + " " + ellipsis + " and " + strconv.Itoa(w.left) + " more."
	}
	if strings.HasSuffix(w.b.String(), ellipsis) {
		return w.b.String()
	}
	return w.b.String() + "."
}

// finding words one finding: the path with the value in brackets, and the detail
// where the message does not hold it already.
func finding(f *Finding, message string) string {
	value, detail := cut(Clean(f.Value), valueLimit), cut(Clean(f.Detail), valueLimit)
	if strings.Contains(message, detail) {
		detail = ""
	}
	path := Clean(f.Path)
	if path == "" {
		path, detail = detail, ""
	}
	switch {
	case value == "" && detail == "":
		return path
	case value == "":
		return path + " (" + detail + ")"
	case detail == "":
		return path + " (" + value + ")"
	case strings.Contains(detail, value):
		return path + " (" + detail + ")"
	default:
		return path + " (" + value + ": " + detail + ")"
	}
}
