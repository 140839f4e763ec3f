package load

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Single turns a file that holds one YAML document, or JSON, into JSON, by the same
// reading and the same limits as manifests have; nil for a file that holds nothing.
// The error is one of wire where a field is known to be at fault.
func Single(data []byte) ([]byte, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' && len(trimmed) <= maxJSON && jsontext.Value(trimmed).IsValid() {
		// Read as JSON, numbers stay as they are written.
		return trimmed, nil
	}
	if len(data) > maxYAML {
		return nil, tooLarge("YAML", maxYAML)
	}
	var found segment
	for s, err := range segments(bytes.NewReader(data)) {
		switch {
		case err != nil:
			return nil, err
		case isBlank(s.text):
		case found.text != nil:
			return nil, errors.New("holds several YAML documents, and one is expected")
		default:
			found = s
		}
	}
	if found.text == nil {
		return nil, nil
	}
	content, err := yamlToJSON(found.text, found.line)
	var twice duplicates
	if errors.As(err, &twice) {
		var all apijson.Errors
		for i := range twice {
			all = append(all, &apijson.Error{Path: twice[i].path, Detail: twice[i].detail()})
		}
		return nil, all
	}
	return content, err
}
