package command

import (
	"fmt"
	"strings"
)

// Plainly words an error of the API server without what says nothing to a
// person.
func Plainly(what string, err error) error {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "denied the request: "); ok {
		text = rest
	}
	return fmt.Errorf("%s: %s", what, text)
}
