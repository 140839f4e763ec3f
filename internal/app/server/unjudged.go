package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/door/access"
	"github.com/sallyport-io/sallyport/internal/door/admission"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// errNotKnown marks the errors that are about the state of Sallyport, which no
// requester can bring about: it does not know what it must. Another error is not
// taken for one, whatever its status.
var errNotKnown = errors.New("not all is known that must be")

func notKnown(missing error) *door.Error {
	return &door.Error{Status: http.StatusServiceUnavailable, Message: missing.Error(), Err: fmt.Errorf("%w: %w", errNotKnown, missing)}
}

// unjudged answers a review that nobody judged: one that is too large, that holds
// what cannot be read, or for which there was no room. All of these a requester can
// bring about, so that an HTTP status, which leaves the decision to the failurePolicy
// of the webhook, would let him choose it. The answer is a refusal, for which the
// beginning of the review is enough.
//
// What does not name itself as a review was sent by no API server, and gets an HTTP
// status.
func (g *gate) unjudged(asked question, w http.ResponseWriter, body []byte, whole bool, err error) {
	problem := &door.Error{Status: http.StatusInternalServerError, Message: "the request could not be judged"}
	errors.As(err, &problem)
	req, ok := outlined(asked.door, body, whole)
	if !ok || errors.Is(err, errNotKnown) {
		g.refuse(asked.door, w, err)
		return
	}
	started := g.Now()
	req.Time, req.ClusterName, req.Unauthenticated = started, asked.cluster, asked.by.unauthenticated
	if req.ClusterName == "" {
		req.ClusterName = g.ClusterName
	}
	d := refusal("review", problem.Message)
	switch problem.Status {
	case http.StatusTooManyRequests:
		d.Results[0].Rule, d.Results[0].Code = admission.RuleOverload, problem.Status
	case http.StatusRequestEntityTooLarge:
		d.Results[0].Code = problem.Status
	}
	d.Results[0].Marked = g.bringsMark(req, body, whole)
	d = g.observed(req, &d)
	g.Recorder.Decided(req, &d, g.Now().Sub(started))
	g.Log.V(1).Info("a review was refused unjudged", "door", asked.door, "uid", req.UID, "problem", problem.Message)
	if asked.door == request.Admission {
		g.write(asked.door, w, admission.Answer(req, &d))
		return
	}
	g.write(asked.door, w, access.Answer(req, &d))
}

// outlined is what a review says of itself. A SubjectAccessReview that is read whole
// and is not one holds nothing that a requester could have put there: an API server
// writes it itself.
func outlined(at request.Door, body []byte, whole bool) (*request.Request, bool) {
	switch {
	case at == request.Admission:
		return admission.Outline(body, whole)
	case !whole && access.Names(body):
		return &request.Request{Door: request.Access}, true
	default:
		return nil, false
	}
}

func (g *gate) write(at request.Door, w http.ResponseWriter, answer []byte) {
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(answer); err != nil {
		g.Log.V(1).Info("the caller left before the answer", "door", at, "error", err.Error())
	}
}
