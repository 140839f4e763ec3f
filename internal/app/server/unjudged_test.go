package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestOnlyOurStateIsAStatus answers with an HTTP status what is about our own state,
// by what the error says, and everything else in a review, whatever its status.
func TestOnlyOurStateIsAStatus(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.Now = time.Now
	g := newGate(&o)
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"not all is known":              {notKnown(errors.New("policies were not read yet")), http.StatusServiceUnavailable},
		"unavailable for another cause": {&door.Error{Status: http.StatusServiceUnavailable, Message: "an upstream is away"}, http.StatusOK},
		"no room":                       {&door.Error{Status: http.StatusTooManyRequests, Message: "no room"}, http.StatusOK},
		"too large":                     {&door.Error{Status: http.StatusRequestEntityTooLarge, Message: "too large"}, http.StatusOK},
		"anything":                      {errors.New("anything"), http.StatusOK},
	} {
		for at, body := range map[request.Door]string{request.Admission: execReview, request.Access: sar} {
			w := httptest.NewRecorder()
			g.unjudged(question{door: at, by: &caller{}}, w, []byte(body), false, c.err)
			if w.Code != c.status || (c.status == http.StatusOK) != refused(w.Body.String()) {
				t.Errorf("%s at the door %s: %d %s", name, at, w.Code, w.Body)
			}
			if at == request.Access && c.status == http.StatusOK && !strings.Contains(w.Body.String(), `"this request is refused, because`) {
				t.Errorf("%s: a refusal without a subject: %s", name, w.Body)
			}
		}
	}
}
