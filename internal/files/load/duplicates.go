package load

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// duplicate is a name that stands twice in one map.
type duplicate struct {
	path          string
	line, earlier int
}

// duplicates are an error that knows the path of each.
type duplicates []duplicate

func (d duplicates) Error() string {
	sentences := make([]string, len(d))
	for i := range d {
		sentences[i] = d[i].path + ": " + d[i].detail()
	}
	return strings.Join(sentences, "; ")
}

func (d *duplicate) detail() string {
	return fmt.Sprintf("stands more than once in the same object, on line %d and on line %d; keep one", d.earlier, d.line)
}

// findDuplicates looks for names that stand twice in a map of the document as it
// is written: what comes in by a merge key or an alias does not count.
func findDuplicates(text []byte, line int) duplicates {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil
	}
	var found duplicates
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		switch n.Kind {
		case yaml.DocumentNode:
			for _, child := range n.Content {
				walk(child, path)
			}
		case yaml.SequenceNode:
			for i, child := range n.Content {
				walk(child, apijson.Element(path, i))
			}
		case yaml.MappingNode:
			lines := make(map[string]int, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				at := apijson.Child(path, key.Value)
				if earlier, ok := lines[key.Value]; ok && key.Kind == yaml.ScalarNode {
					found = append(found, duplicate{at, key.Line + line - 1, earlier + line - 1})
				} else {
					lines[key.Value] = key.Line
				}
				walk(n.Content[i+1], at)
			}
		}
	}
	walk(&root, "")
	return found
}
