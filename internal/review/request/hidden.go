package request

import (
	"bytes"
	"fmt"
	"log/slog"
)

// Hidden is the JSON of an object that policies see and records do not: it can
// hold what somebody runs in a container, passwords on a command line among it.
// However it is printed, logged or written as JSON, nothing of it shows. The zero
// Hidden holds nothing.
type Hidden struct{ raw []byte }

// Hide makes a Hidden of JSON, which must not be changed afterwards.
func Hide(raw []byte) Hidden { return Hidden{raw} }

// Reveal is the JSON, nil for nothing. It is for judging; what is said of it has to
// be made safe by whoever says it.
func (h Hidden) Reveal() []byte { return h.raw }

// hidden stands in place of what is not shown.
const hidden = "(not shown)"

// Format prints nothing of it, whichever verb asks.
func (h Hidden) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, hidden) }

// LogValue logs nothing of it.
func (h Hidden) LogValue() slog.Value { return slog.StringValue(hidden) }

// Equal compares two of them.
func (h Hidden) Equal(other Hidden) bool { return bytes.Equal(h.raw, other.raw) }

// MarshalJSON writes nothing of it.
func (h Hidden) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
