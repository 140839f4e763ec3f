// Package condition is what all conditions in a status have to keep to.
package condition

import "strings"

// LongestMessage is what the API server takes as the message of a condition, in bytes.
const LongestMessage = 32768

// Message is a message that the API server takes: a longer one is cut, and ends in
// three dots.
func Message(text string) string {
	if len(text) <= LongestMessage {
		return text
	}
	return strings.ToValidUTF8(text[:LongestMessage-3], "") + "..."
}
