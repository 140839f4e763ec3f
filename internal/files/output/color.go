package output

import "github.com/sallyport-io/sallyport/internal/review/decision"

// Painter colours text for a terminal; false leaves it as it is.
type Painter bool

func (p Painter) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold and Dim set a text apart.
func (p Painter) Bold(s string) string { return p.with("1", s) }
func (p Painter) Dim(s string) string  { return p.with("2", s) }

// Verdict colours a text that stands for a verdict.
func (p Painter) Verdict(v decision.Verdict, s string) string {
	return p.outcome(verdictOutcomes[v], s)
}

// outcome colours what stands for an outcome.
func (p Painter) outcome(o outcome, s string) string {
	return p.with([...]string{passed: "32", excused: "36", recorded: "34", warned: "33", failed: "1;31", unjudged: "1;35"}[o], s)
}

// location colours the path of a finding and the value found there.
func (p Painter) location(f *decision.Finding) string {
	if f.Value == "" || f.Path == "" {
		return p.with("36", clean(f.Path))
	}
	return p.with("36", clean(f.Path)) + " = " + p.with("33", clean(f.Value))
}
