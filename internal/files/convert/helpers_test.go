package convert_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/convert"
	"github.com/sallyport-io/sallyport/internal/files/load"
)

// headOf begins an object of a kind; a spec follows.
func headOf(apiVersion, kind string) string {
	namespace := ", namespace: shop"
	if kind == "ClusterPolicy" {
		namespace = ""
	}
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: p" + namespace + "}\n"
}

// ours reads the one document of text as ours.
func ours(t testing.TB, text string) (*convert.Object, stored.Problems) {
	t.Helper()
	var object *convert.Object
	var problems stored.Problems
	for document, wrong := range load.Parse("a.yaml", []byte(text)) {
		problems = append(problems, wrong...)
		if document != nil {
			object, wrong = document.AsOurs()
			problems = append(problems, wrong...)
		}
	}
	return object, problems
}

// treeOf reads YAML as a tree.
func treeOf(t testing.TB, text string) map[string]any {
	t.Helper()
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return tree
}

// pods matches Pods; requires makes the rules of a policy with one rule about
// them, of what stands below validate.
const pods = "match: {any: [{resources: {kinds: [Pod]}}]}"

func requires(validate string) string {
	return "rules: [{name: r, " + pods + ", validate: {" + validate + "}}]\n"
}

// indented moves the lines of text in by two spaces.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
