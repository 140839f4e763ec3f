package admission

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// The API server carries 4,096 characters of warnings to a client. Beyond that,
// it cuts each to 256 and drops what still does not fit, other webhooks' too. 15
// lines of door.WarningLimit bytes are never cut and leave room for others.
const warningCount = 15

const (
	opening = `{"kind":"` + reviewKind + `","apiVersion":"` + reviewAPIVersion + `","response":{"uid":`
	closing = "}}\n"
)

// Answer is the AdmissionReview that answers req with d, as JSON. It always
// repeats the uid of the request.
func Answer(req *request.Request, d *decision.Decision) []byte { return AnswerPatched(req, d, nil) }

// AnswerPatched is Answer with a JSON patch, where that is not empty and the
// request is let in.
func AnswerPatched(req *request.Request, d *decision.Decision, patch []byte) []byte {
	b := make([]byte, 0, 1024)
	b = quote(append(b, opening...), string(req.UID))
	if d.Refuses() {
		// A rule that could not be judged is a refusal like any other: 403 says
		// that trying again at once is of no use, and the message says why.
		b = append(b, `,"allowed":false,"status":{"status":"Failure",`...)
		if overloaded(d) {
			// Clients try again by themselves where they are told to.
			b = append(b, `"reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":`...)
		} else {
			b = append(b, `"reason":"Forbidden","code":`...)
		}
		b = strconv.AppendInt(b, int64(code(d)), 10)
		b = append(b, `,"message":`...)
		b = quote(b, decision.Reason(decision.Subject(req), d, door.ReasonLimit(req)))
		b = append(b, '}')
	} else {
		b = append(b, `,"allowed":true`...)
		if len(patch) > 0 {
			b = append(b, `,"patchType":"JSONPatch","patch":"`...)
			b = base64.StdEncoding.AppendEncode(b, patch)
			b = append(b, '"')
		}
	}
	if warnings := decision.Warnings(d, warningCount, door.WarningLimit); len(warnings) > 0 {
		b = append(b, `,"warnings":[`...)
		for i, w := range warnings {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, w)
		}
		b = append(b, ']')
	}
	b = appendAnnotations(b, d)
	return append(b, closing...)
}

// RuleOverload is the rule of ours that refuses what there was no room to judge.
const RuleOverload = "overload"

func overloaded(d *decision.Decision) bool {
	return len(d.Results) == 1 && d.Results[0].Kind == decision.KindOwn && d.Results[0].Rule == RuleOverload
}

// code is the HTTP status of a refusal: what a module asks for, if no other rule
// refuses.
func code(d *decision.Decision) int {
	asked := 0
	for i := range d.Results {
		if r := &d.Results[i]; r.Blocks() {
			if r.Code < 400 || r.Code > 599 || asked != 0 && asked != r.Code {
				return http.StatusForbidden
			}
			asked = r.Code
		}
	}
	return cmp.Or(asked, http.StatusForbidden)
}

// quote appends s as a JSON string. Invalid UTF-8 in it is replaced.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
