package pattern

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// example is a block of docs/patterns.md.
type example struct {
	// Of these one is set.
	Pattern    map[string]any
	AnyPattern []any
	Refused    []any

	Passes, Fails, Skips []any
	// Findings are those of Fails, one resource after the other.
	Findings []string
}

// TestDocumentation judges every example of docs/patterns.md.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")
	if len(blocks) < 30 {
		t.Fatalf("the page has %d examples, and the language more rules than that", len(blocks)-1)
	}
	line := 1
	for i, block := range blocks {
		if i > 0 {
			text, _, _ := strings.Cut(block, "```")
			t.Run(fmt.Sprintf("line %d", line), func(t *testing.T) { judgeExample(t, readExample(t, text)) })
		}
		line += strings.Count(block, "\n") + 1
	}
}

// readExample reads a block as policies and resources are read, so that integers
// stay integers.
func readExample(t *testing.T, text string) example {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := apijson.Tree(data)
	if err != nil {
		t.Fatal(err)
	}
	var e example
	list := func(value any) []any {
		items, ok := value.([]any)
		if !ok || len(items) == 0 {
			t.Fatalf("%v is not a list that holds something", value)
		}
		return items
	}
	for key, value := range tree {
		switch key {
		case "pattern":
			e.Pattern, _ = value.(map[string]any)
		case "anyPattern":
			e.AnyPattern = list(value)
		case "refused":
			e.Refused = list(value)
		case "passes":
			e.Passes = list(value)
		case "fails":
			e.Fails = list(value)
		case "skips":
			e.Skips = list(value)
		case "findings":
			for _, finding := range list(value) {
				e.Findings = append(e.Findings, finding.(string))
			}
		default:
			t.Fatalf("an example has no %q", key)
		}
	}
	return e
}

func judgeExample(t *testing.T, e example) {
	path := field.NewPath("pattern")
	var p *Pattern
	var errs field.ErrorList
	switch {
	case e.Refused != nil:
		for _, pattern := range e.Refused {
			if _, errs := Compile(pattern, path); len(errs) == 0 {
				t.Errorf("%s is not refused", inJSON(pattern))
			}
		}
		return
	case e.AnyPattern != nil:
		p, errs = CompileAny(e.AnyPattern, path)
	default:
		p, errs = Compile(e.Pattern, path)
	}
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if len(e.Passes) == 0 || len(e.Fails)+len(e.Skips) == 0 {
		t.Fatal("an example shows what passes and what does not")
	}
	var findings []string
	for outcome, resources := range map[Outcome][]any{Pass: e.Passes, Skip: e.Skips, Fail: e.Fails} {
		for _, resource := range resources {
			got := p.Match(resource)
			if got.Outcome != outcome {
				t.Errorf("%s: %v %+v, want %v", inJSON(resource), got.Outcome, got.Failures, outcome)
			}
			for _, f := range got.Failures {
				findings = append(findings, f.Path+": "+f.Detail)
			}
		}
	}
	if diff := cmp.Diff(e.Findings, findings); e.Findings != nil && diff != "" {
		t.Errorf("findings (-page +got):\n%s", diff)
	}
}

func inJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
