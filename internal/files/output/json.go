package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// writeJSON writes the decision in its documented form.
func writeJSON(w io.Writer, d *decision.Decision) error {
	return encode(w, d)
}

// encode writes a value as indented JSON, readable in a terminal as well.
func encode(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return nil
}
