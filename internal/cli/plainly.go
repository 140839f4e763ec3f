package cli

import (
	"fmt"
	"strings"
)

// plainly words an error of the API server without what says nothing to a
// person.
func plainly(what string, err error) error {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "denied the request: "); ok {
		text = rest
	}
	return fmt.Errorf("%s: %s", what, text)
}
