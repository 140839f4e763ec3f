// Package reached finds out whether the API server reaches Sallyport at its two doors:
// whether the authorizer asks about a request, by SubjectAccessReviews of a user that
// nobody is, and whether webhooks get an answer, by making an object of ours in a dry
// run. Nothing is changed by either.
//
// Both carry a word that one replica gave out and that the others know. Whoever else
// uses it gains a refusal.
package reached

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Names in which the word stands: of the user that is asked about, and of the object.
const (
	userPrefix   = "sallyport:probe:"
	objectPrefix = "sallyport-canary-"
)

// answer is what a word is answered by. It does not hold the word, which others might
// say back.
func answer(word string) string {
	sum := sha256.Sum256([]byte("answer to " + word))
	return "probe " + hex.EncodeToString(sum[:12])
}

// Answer returns what a request is refused with by which a replica finds out whether it
// is asked about; false for any other. knows reports whether a replica gave out a word.
func Answer(r *request.Request, knows func(word string) bool) (string, bool) {
	word, ours := "", false
	switch {
	case r.Elsewhere:
	case r.Door == request.Access:
		word, ours = strings.CutPrefix(r.User.Name, userPrefix)
	case r.Operation == request.Create && r.DryRun && r.Kind.Group == v1alpha1.GroupVersion.Group && r.Kind.Kind == exception.KindResponse:
		word, ours = strings.CutPrefix(r.Name, objectPrefix)
	}
	if !ours {
		return "", false
	}
	word = strings.ToUpper(word)
	if !knows(word) {
		return "", false
	}
	return answer(word) + asked + rand.Text(), true
}

// asked stands before what no two answers have in common, by which is seen whether the
// API server asked again or kept an answer.
const asked = ", asked "

// askedOf is what an answer has in common with no other; empty for an answer of a
// version that had nothing of the kind.
func askedOf(reason string) string {
	_, after, found := strings.Cut(reason, asked)
	if !found {
		return ""
	}
	end := strings.IndexFunc(after, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	if end >= 0 {
		after = after[:end]
	}
	return after
}
