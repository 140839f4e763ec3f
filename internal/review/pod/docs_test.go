package pod_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestDocumentedKinds holds the table of docs/pod-kinds.md to what is shipped.
func TestDocumentedKinds(t *testing.T) {
	const file = "../../../docs/pod-kinds.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "<!-- shipped -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /shipped -->")
	if !ok || !closed {
		t.Fatal("the table is not marked")
	}
	want := before + "<!-- shipped -->\n" + shippedTable() + "<!-- /shipped -->" + after
	if want == string(data) {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatal("docs/pod-kinds.md has another table than is shipped; write it with UPDATE_DOCS=1 go test ./internal/review/pod -run TestDocumentedKinds")
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func shippedTable() string {
	var b strings.Builder
	b.WriteString("| project | kind | group | pods at |\n|---|---|---|---|\n")
	for _, project := range pod.Projects() {
		name := project.Name
		at := map[string][]string{}
		var order []string
		for _, r := range project.Registrations {
			key := r.Kind + " | `" + r.Group + "`"
			if at[key] == nil {
				order = append(order, key)
			}
			for _, path := range r.Paths {
				what := ""
				switch {
				case len(r.Parts) > 0 && r.Completed:
					what = " (parts, completed)"
				case len(r.Parts) > 0:
					what = " (parts)"
				case r.Completed:
					what = " (completed)"
				}
				at[key] = append(at[key], "`"+path+"`"+what)
			}
		}
		for _, key := range order {
			b.WriteString("| " + name + " | " + key + " | " + strings.Join(at[key], ", ") + " |\n")
			name = ""
		}
	}
	return b.String()
}
