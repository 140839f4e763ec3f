package output

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// The shape that CI servers read: a suite a file, a case a rule and resource.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		ClassName string       `xml:"classname,attr"`
		Name      string       `xml:"name,attr"`
		File      string       `xml:"file,attr,omitempty"`
		Line      int          `xml:"line,attr,omitempty"`
		Failure   *junitDetail `xml:"failure"`
		Error     *junitDetail `xml:"error"`
		Skipped   *junitDetail `xml:"skipped"`
		Output    string       `xml:"system-out,omitempty"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a test case for each result. What is only warned about or
// recorded passes, and says so in its output.
func writeJUnit(w io.Writer, j *Judgement) error {
	suites := junitSuites{Name: "sallyport"}
	index := map[string]int{}
	for i := range j.Decision.Results {
		r, place := &j.Decision.Results[i], j.Places[i]
		name := place.File
		if name == "" {
			name = resourceName(&r.Resource)
		}
		k, ok := index[name]
		if !ok {
			k = len(suites.Suites)
			index[name] = k
			suites.Suites = append(suites.Suites, junitSuite{Name: name})
		}
		suites.Suites[k].add(junitCaseOf(r, place))
	}
	for i := range suites.Suites {
		s := &suites.Suites[i]
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
		suites.Skipped += s.Skipped
	}
	raw, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, raw); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return nil
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitCaseOf(r *decision.Result, place Place) junitCase {
	c := junitCase{ClassName: ruleName(r), Name: resourceName(&r.Resource), File: place.File, Line: place.Line}
	detail := &junitDetail{Message: r.Message, Type: r.Kind, Text: details(r, place)}
	switch outcomeOf(r) {
	case failed:
		c.Failure = detail
	case unjudged:
		c.Error = detail
	case excused:
		c.Skipped = detail
	case warned:
		c.Output = "warning: " + r.Message + "\n" + detail.Text
	case recorded:
		c.Output = "recorded: " + r.Message + "\n" + detail.Text
	}
	return c
}

// details are the findings, a line each.
func details(r *decision.Result, place Place) string {
	var b strings.Builder
	for i := range r.Findings {
		if where := place.finding(i); where != "" {
			b.WriteString(where + ": ")
		}
		b.WriteString(r.Findings[i].String() + "\n")
	}
	return b.String()
}
