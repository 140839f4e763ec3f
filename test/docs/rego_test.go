package docs

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/regobuiltin"
	"github.com/sallyport-io/sallyport/internal/wasm/regoguest"
)

type fixedData json.RawMessage

func (f fixedData) Data(context.Context) (json.RawMessage, string, error) {
	return json.RawMessage(f), "1", nil
}

// TestRegoPolicies runs each policy in Rego: its block names mode and entrypoint,
// and the blocks behind it are its data, a request and the answer to that.
func TestRegoPolicies(t *testing.T) {
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	values := blocks(t, "json")
	for _, b := range blocks(t, "rego") {
		t.Run(b.name(), func(t *testing.T) {
			mode, entrypoint, _ := strings.Cut(b.note, " ")
			next := func(note string) json.RawMessage {
				i := slices.IndexFunc(values, func(v block) bool { return v.file == b.file && v.line > b.line && v.note == note })
				if i < 0 {
					t.Fatalf("no block json %s follows", note)
				}
				return json.RawMessage(values[i].text)
			}
			module, err := regoguest.Compile(t.Context(), b.text, entrypoint)
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := engine.Compile(t.Context(), module, wasm.CompileOptions{Name: b.name(), Mode: wasm.RegoMode(mode)})
			if err != nil {
				t.Fatal(err)
			}
			policy := compiled.Evaluator(wasm.EvaluatorOptions{Data: fixedData(next("data"))})
			got, err := policy.Validate(t.Context(), next("request"), nil)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Allowed bool
				Message string
			}
			if err := json.Unmarshal(next("answer"), &want); err != nil {
				t.Fatal(err)
			}
			if got.Accepted != want.Allowed || got.Message != want.Message {
				t.Errorf("got %+v, and the page says %+v", got, want)
			}
		})
	}
}

// TestBuiltinsAreListed holds the list of builtin functions to what there is, both
// ways.
func TestBuiltinsAreListed(t *testing.T) {
	_, section, _ := strings.Cut(pages(t)["docs/rego.md"], "\n## Builtin functions\n")
	var listed []string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "- ") {
			line, _, _ = strings.Cut(line, ", which is what `print` becomes")
			for _, found := range regexp.MustCompile("`([a-z0-9_.]+)`").FindAllStringSubmatch(line, -1) {
				listed = append(listed, found[1])
			}
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(regobuiltin.Names(), listed); diff != "" {
		t.Errorf("docs/rego.md lists others (-there are +listed):\n%s", diff)
	}
}
