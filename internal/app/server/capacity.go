package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sallyport-io/sallyport/internal/door"
)

// largeMemory bounds the bytes of bodies above the common size that are held at once, for
// those who show credentials. It holds five of the largest that there can be, and hundreds of those that there
// are.
const largeMemory = 256 << 20

// largeShare is the part of all places that requests with large bodies may take, so
// that those who send such cannot keep out all others.
const largeShare = 4

// capacity is the room for requests that are judged at once.
type capacity struct {
	places chan struct{}
	// large has a place for each request whose body is above the common size.
	large  chan struct{}
	memory *semaphore.Weighted
	// limit is how many bytes memory has.
	limit int64
}

func newCapacity(maxConcurrent int, memory int64) *capacity {
	return &capacity{
		places: make(chan struct{}, maxConcurrent), large: make(chan struct{}, max(1, maxConcurrent/largeShare)),
		memory: semaphore.NewWeighted(memory), limit: memory,
	}
}

// enter takes a place for a request, and room for its body if that is large; leave
// gives both back. Where no place is free, the caller is told at once: waiting in line
// would only use up the time that the API server gives. Only for the memory of a large
// body it waits, for as long as that: the others are done in a moment, and whoever
// sends many large ones would else keep out everybody who sends one.
func (c *capacity) enter(r *http.Request, wait time.Duration) (leave func(), err error) {
	if 0 <= r.ContentLength && r.ContentLength <= commonBody || r.ContentLength > maxBody {
		if !take(c.places) {
			return nil, overloaded("%d requests are being judged, and no more are accepted at once", cap(c.places))
		}
		return func() { <-c.places }, nil
	}
	if !take(c.large) {
		return nil, overloaded("%d large requests are being judged, and no more are accepted at once", cap(c.large))
	}
	if !take(c.places) {
		<-c.large
		return nil, overloaded("%d requests are being judged, and no more are accepted at once", cap(c.places))
	}
	size := r.ContentLength
	if size < 0 {
		size = maxBody
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	if err := c.memory.Acquire(ctx, size); err != nil {
		<-c.places
		<-c.large
		return nil, overloaded("requests of %d bytes are being judged, and there was no room for %d more within %s", c.limit, size, wait)
	}
	return func() { c.memory.Release(size); <-c.places; <-c.large }, nil
}

func take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func overloaded(format string, args ...any) *door.Error {
	return &door.Error{Status: http.StatusTooManyRequests, Message: fmt.Sprintf(format, args...)}
}
