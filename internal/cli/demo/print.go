package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// printer writes the demo, and counts how it went.
type printer struct {
	out   io.Writer
	color bool
	paint output.Painter

	letIn, warned, refused int
}

// line writes a line; what goes wrong in writing shows when the output is
// flushed.
func (p *printer) line(s string) { _, _ = fmt.Fprintln(p.out, strings.TrimRight(s, " ")) }

// textWidth is how wide paragraphs are.
const textWidth = 78

func (p *printer) paragraph(text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > textWidth {
			p.line(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	p.line(line)
}

func (p *printer) heading(text string) {
	p.line("")
	p.line(p.paint.Bold(text))
	p.line(p.paint.Dim(strings.Repeat("─", len(text))))
}

// remarkColumn is where the remarks begin.
const remarkColumn = 46

// scene plays a scene and writes what came of it.
func (p *printer) scene(s *scene, play func() (act, error)) error {
	a, err := play()
	if err != nil {
		return err
	}
	p.line("")
	p.line(p.paint.Bold("$ "+s.command) + strings.Repeat(" ", max(remarkColumn-len(s.command)-2, 2)) + p.paint.Dim("# "+s.remark))
	verdict := a.decision.Verdict
	p.line("  " + p.paint.Verdict(verdict, p.outcome(verdict)) + aside(&a.decision))
	for i := range a.decision.Results {
		r := &a.decision.Results[i]
		if r.Status == decision.Pass {
			continue
		}
		if err := output.WriteResult(p.out, r, a.places[i], p.color); err != nil {
			return err
		}
	}
	return nil
}

// outcome names and counts a verdict.
func (p *printer) outcome(v decision.Verdict) string {
	switch v {
	case decision.Allow:
		p.letIn++
		return "let in"
	case decision.AllowWarning:
		p.letIn++
		p.warned++
		return "let in, with a warning"
	default:
		p.refused++
		return "refused"
	}
}

// aside says why somebody was let in where that is not plain.
func aside(d *decision.Decision) string {
	if d.Verdict != decision.Allow {
		return ""
	}
	for i := range d.Results {
		switch r := &d.Results[i]; {
		case r.Exempt != "":
			return ": " + r.Exempt
		case r.Score != nil:
			return ": risk score " + strconv.Itoa(*r.Score)
		}
	}
	return ""
}

func (p *printer) ending() {
	p.line("")
	p.line(p.paint.Bold(fmt.Sprintf("%s: %d let in (%s), %d refused.",
		plural(p.letIn+p.refused, "request"), p.letIn, plural(p.warned, "warning"), p.refused)))
	p.heading("Next")
	for _, step := range [][2]string{
		{"sallyport demo --write examples", "get these examples as files"},
		{"sallyport check -p POLICIES MANIFESTS", "judge your own manifests, as CI does"},
		{"sallyport access exec NS/POD -p POLICIES --context CTX", "judge one access to a pod that runs"},
		{"sallyport serve --from DIR", "answer the API server at both doors"},
	} {
		p.line("  " + step[0] + strings.Repeat(" ", 56-len(step[0])) + p.paint.Dim(step[1]))
	}
}

// plural counts things by the name of one.
func plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(one, "y") + "ies"
	default:
		return strconv.Itoa(n) + " " + one + "s"
	}
}
