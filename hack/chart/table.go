package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longest is how long a default may be that is shown in the table.
const longest = 60

// table is what the comments of values say, as a table in Markdown: a row for each value
// that has a comment. A value without one is an error, with its path and line, unless the
// comment of what it is part of speaks for it.
func table(values []byte) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| value | default | what it is |\n|---|---|---|\n")
	if err := rows(&out, "", document.Content[0]); err != nil {
		return "", err
	}
	return out.String(), nil
}

// rows writes the rows of a mapping at a path.
func rows(out *strings.Builder, path string, mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := strings.TrimPrefix(path+"."+key.Value, ".")
		if value.Kind == yaml.MappingNode && key.HeadComment == "" && len(value.Content) > 0 {
			if err := rows(out, name, value); err != nil {
				return err
			}
			continue
		}
		says := comment(key)
		if says == "" {
			return fmt.Errorf("line %d: %s has no comment that says what it is", key.Line, name)
		}
		standing, err := shown(value)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", key.Line, name, err)
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, standing, strings.ReplaceAll(says, "|", `\|`))
	}
	return nil
}

// comment is what stands above a key, as one line.
func comment(key *yaml.Node) string {
	var words []string
	for line := range strings.Lines(key.HeadComment) {
		words = append(words, strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))...)
	}
	return strings.Join(words, " ")
}

// shown is a default as the table shows it.
func shown(value *yaml.Node) (string, error) {
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		return "", err
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return "", err
	}
	if len(text) > longest {
		return "see values.yaml", nil
	}
	return "`" + string(text) + "`", nil
}
