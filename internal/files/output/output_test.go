package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

var update = flag.Bool("update", false, "write the expected output again")

// sample holds a result of every outcome.
func sample() *Judgement {
	score := 90
	resource := func(kind, namespace, name string) decision.Resource {
		return decision.Resource{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}
	}
	results := []decision.Result{
		{Policy: "base", Rule: "r", Kind: "ClusterPolicy", Resource: resource("Pod", "shop", "good"), Status: decision.Pass, Action: decision.Enforce, Message: "meets it", Source: "a b.yaml, document 1"},
		{
			Policy: "base", Rule: "r", Kind: "ClusterPolicy", Resource: resource("Pod", "shop", "bad"), Status: decision.Fail, Action: decision.Enforce,
			Message: "violates <it> & more", Source: "a b.yaml, document 2",
			Findings: []decision.Finding{{Path: "spec.hostPID", Value: "true", Detail: "must be false"}, {Path: "spec.x", Detail: "is missing"}, {Detail: "no field is at fault"}},
		},
		{Policy: "watch", PolicyNamespace: "shop", Rule: "r", Kind: "Policy", Resource: resource("Pod", "shop", "bad"), Status: decision.Warn, Action: decision.ActionWarn, Message: "would be nicer", Source: "a b.yaml, document 2"},
		{Policy: "note", Rule: "r", Kind: "ClusterPolicy", Resource: resource("Pod", "shop", "bad"), Status: decision.Fail, Action: decision.ActionAudit, Message: "noted", Source: "a b.yaml, document 2"},
		{
			Policy: "base", Rule: "r", Kind: "ClusterPolicy", Resource: resource("Pod", "shop", "excused"), Status: decision.Skip, Action: decision.Enforce, Message: "violates it, and is excused",
			Exceptions: []decision.Exception{{Kind: "PolicyException", Namespace: "shop", Name: "e", Reason: "migration", ExpiresAt: "2027-01-01T00:00:00Z"}}, Source: "c.yaml, document 1",
		},
		{Policy: "guard", Rule: "podSecurityRules", Kind: "DenyPolicy", Resource: resource("Pod", "shop", "risky"), Status: decision.Fail, Action: decision.Enforce, Message: "too risky", Remedy: decision.RemedyExemption, Score: &score, Factors: []string{"privilegedContainer"}},
		{Policy: "guard", Rule: "podSecurityRules", Kind: "DenyPolicy", Resource: resource("Node", "", "node-1"), Status: decision.Error, Action: decision.Enforce, Message: "cannot be read \x1b[31m"},
		{Policy: "guard", Rule: "podSecurityRules", Kind: "DenyPolicy", Resource: resource("Pod", "shop", "gone"), Status: decision.Error, Action: decision.Enforce, FailClosed: true, Message: "is not there"},
	}
	return &Judgement{
		Decision: decision.Of(results), Resources: 7, Unruled: 1,
		Places: []Place{
			{File: "a b.yaml", Line: 1},
			{File: "a b.yaml", Line: 7, Findings: []int{9, 8, 7}},
			{File: "a b.yaml", Line: 7},
			{File: "a b.yaml", Line: 7},
			{File: "/abs/c.yaml", Line: 1},
			{}, {}, {},
		},
	}
}

func render(t *testing.T, format Format, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, sample(), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	tests := []struct {
		file    string
		format  Format
		options Options
	}{
		{"text", Text, Options{}},
		{"verbose.text", Text, Options{Verbose: true}},
		{"color.text", Text, Options{Color: true}},
		{"json", JSON, Options{}},
		{"junit.xml", JUnit, Options{}},
		{"sarif.json", SARIF, Options{Version: "v1.2.3"}},
		{"report.json", Report, Options{}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got := render(t, test.format, test.options)
			path := filepath.Join("testdata", test.file)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("another output than expected (-want +got):\n%s", diff)
			}
		})
	}
}

// TestJUnitIsXML reads the output as any CI server does.
func TestJUnitIsXML(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(render(t, JUnit, Options{})))
	count := map[string]int{}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
	want := map[string]int{"testsuites": 1, "testsuite": 5, "testcase": 8, "failure": 3, "error": 1, "skipped": 1, "system-out": 2}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

// TestSARIFHasWhatTheStandardRequires goes by SARIF 2.1.0.
func TestSARIFHasWhatTheStandardRequires(t *testing.T) {
	var log sarifLog
	if err := json.Unmarshal([]byte(render(t, SARIF, Options{})), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("version, run or driver is missing: %+v", log)
	}
	run := log.Runs[0]
	if len(run.Results) != 9 {
		t.Errorf("%d results, want 9", len(run.Results))
	}
	uri := regexp.MustCompile(`^(file:///)?[A-Za-z0-9%./_-]+$`)
	for _, r := range run.Results {
		if r.Message.Text == "" || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("message or rule is missing: %+v", r)
		}
		if r.Level != "error" && r.Level != "warning" && r.Level != "note" {
			t.Errorf("level %q", r.Level)
		}
		for _, l := range r.Locations {
			if l.Physical != nil && (!uri.MatchString(l.Physical.Artifact.URI) || l.Physical.Region == nil || l.Physical.Region.StartLine < 1) {
				t.Errorf("location %+v", l.Physical)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("yaml"); err == nil || err.Error() != `there is no output format "yaml"; there are text, json, junit, sarif, report` {
		t.Errorf("%v", err)
	}
}

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"a.yaml": "a.yaml", "./x/../a b.yaml": "a%20b.yaml", "/x/ü.yaml": "file:///x/%C3%BC.yaml", "standard input": "standard%20input",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
