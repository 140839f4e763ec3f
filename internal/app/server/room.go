package server

import (
	"net/http"
	"time"

	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// enter takes a place for a request; leave gives it back. Those who show no credentials have
// places of their own.
func (g *gate) enter(asked question, r *http.Request, wait time.Duration) (leave func(), err error) {
	if asked.by.unauthenticated {
		leave, why, err := g.strangers.enter(asked.by.from, r, wait)
		if err != nil {
			g.Recorder.Unjudged(why)
		}
		return leave, err
	}
	if leave, err = g.room.enter(r, wait); err != nil {
		g.Recorder.Overloaded(asked.door)
	}
	return leave, err
}

// notKnown counts a request that was not judged, as not all is known that must be.
func (g *gate) notKnown(at request.Door, by *caller) {
	if by.unauthenticated {
		g.Recorder.Unjudged(record.NothingKnown)
		return
	}
	g.Recorder.NotKnown(at)
}
