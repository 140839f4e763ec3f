package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-io/sallyport/internal/controller/doctor"
)

// marks stand before what a check came to.
var marks = map[doctor.Status]string{doctor.OK: "✓", doctor.Warning: "!", doctor.Problem: "✗", doctor.Unknown: "?"}

// writeText writes a report for people: a group after the other, and the hint below what
// it is for.
func writeText(out io.Writer, report *doctor.Report) error {
	var b strings.Builder
	group := ""
	for i := range report.Checks {
		f := &report.Checks[i]
		if f.Group != group {
			if group != "" {
				b.WriteString("\n")
			}
			group = f.Group
			b.WriteString(group + "\n")
		}
		fmt.Fprintf(&b, "  %s %s: ", marks[f.Status], f.Name)
		if at := strings.TrimSpace(f.Object + " " + f.Path); at != "" {
			b.WriteString(at + ": ")
		}
		b.WriteString(f.Message + "\n")
		// What is the same for many stands below the last of them.
		if f.Hint != "" && (i+1 == len(report.Checks) || report.Checks[i+1].Name != f.Name || report.Checks[i+1].Hint != f.Hint) {
			b.WriteString("      " + f.Hint + "\n")
		}
	}
	b.WriteString("\n" + summary(report) + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func summary(report *doctor.Report) string {
	s := &report.Summary
	start := "Sound."
	switch {
	case s.Problem > 0:
		start = "Not sound."
	case report.Incomplete:
		start = "Not known to be sound."
	case s.Warning > 0:
		start = "Sound, with warnings."
	}
	return fmt.Sprintf("%s %d ok, %s, %s, %d unknown", start, s.OK, counted(s.Warning, "warning"), counted(s.Problem, "problem"), s.Unknown)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
