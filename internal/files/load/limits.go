package load

import "fmt"

// Limits of what is read. An object in etcd is 1.5 MiB at most, so that a
// document near a limit is a list; YAML needs some forty times its size while it
// is parsed, JSON twice.
const (
	maxYAML = 32 << 20
	maxJSON = 256 << 20
	// maxExpanded is how large the JSON of a YAML document may become by its
	// aliases.
	maxExpanded = 2 * maxYAML
	// maxLists is how deep lists may stand in lists.
	maxLists = 8
)

func tooLarge(what string, limit int) error {
	return fmt.Errorf("is larger than %d MiB, the most that is read of one %s document; write one object a document, or lists as JSON of up to %d MiB",
		limit>>20, what, maxJSON>>20)
}
