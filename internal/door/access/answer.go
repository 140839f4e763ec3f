package access

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const opening = `{"kind":"` + reviewKind + `","apiVersion":"` + reviewAPIVersion + `","status":{"allowed":`

// Answer is the SubjectAccessReview that answers req with d, as JSON: denied for
// a refusal, allowed where a breakglass session gives what the user's own rights may
// not, and no opinion for everything else, so that the authorizers behind this one
// decide. The API server reads only the status, so nothing else is repeated.
func Answer(req *request.Request, d *decision.Decision) []byte {
	b := append(make([]byte, 0, 512), opening...)
	reason := ""
	switch {
	case d.Refuses():
		b = append(b, `false,"denied":true`...)
		reason = decision.Reason(decision.Subject(req), d, door.ReasonLimit(req))
	case d.Granted != nil:
		b = append(b, `true`...)
		reason = decision.Clean("group " + d.Granted.Group + " by " + d.Granted.String())
	default:
		b = append(b, `false`...)
		// If no one else allows the request, the API server shows it behind its own
		// sentence.
		if warnings := decision.Warnings(d, 1, door.WarningLimit); len(warnings) > 0 {
			reason = "warning: " + warnings[0]
		} else {
			reason = decision.Clean(d.NotGranted)
		}
	}
	if reason != "" {
		b = append(b, `,"reason":`...)
		// Invalid UTF-8 is replaced, which is all that can go wrong.
		b, _ = jsontext.AppendQuote(b, reason)
	}
	return append(b, "}}\n"...)
}
