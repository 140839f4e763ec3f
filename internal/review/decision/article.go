package decision

import "strings"

// A puts the article before the name of a kind: a Pod, an AdmissionReview, an
// MPIJob. A capital that is followed by another is spoken as a letter.
func A(kind string) string {
	letters := "AEIO"
	if len(kind) > 1 && kind[1] >= 'A' && kind[1] <= 'Z' {
		letters = "AEFHILMNORSX"
	}
	if kind != "" && strings.IndexByte(letters, kind[0]&^('a'-'A')) >= 0 {
		return "an " + kind
	}
	return "a " + kind
}
