// Package recording records what a policy module asked of its host, and what it was
// answered, and plays it back. A session is a YAML list of entries of the type
// Exchange; each holds a request, which is YAML of its own whose tag names the
// call, and a response. It is the form that the tools of the ecosystem write and
// read, in the several versions of them.
package recording

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Exchange is a request with its response.
type Exchange struct {
	Request hostcall.Request
	// Payload is the answer, and Message the error in its place.
	Payload string
	Failed  bool
	Message string
}

// Replay answers calls from a session, in its order.
type Replay struct {
	mu   sync.Mutex
	left []Exchange
	at   int
}

var _ contextgate.Backend = (*Replay)(nil)

// NewReplay makes a Replay of the exchanges.
func NewReplay(exchanges []Exchange) *Replay { return &Replay{left: exchanges} }

// Answer answers with what was recorded for the same request, if it is the next
// one. Any other request is an error and uses the next entry up.
func (r *Replay) Answer(_ context.Context, a *contextgate.Admitted) ([]byte, error) {
	if _, ok := a.Request.(*hostcall.Line); ok {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return nil, fmt.Errorf("the recorded session has no entry left: it holds %d, and the module went on to %s", r.at, a.Request.About())
	}
	next := r.left[0]
	r.left = r.left[1:]
	r.at++
	if !reflect.DeepEqual(plain(next.Request), plain(a.Request)) {
		return nil, fmt.Errorf("entry %d of the recorded session is another request: the module asks to %s, recorded is %s", r.at, about(a.Request), about(next.Request))
	}
	if next.Failed {
		return nil, errors.New(next.Message)
	}
	return []byte(next.Payload), nil
}

// plain is a request without what does not matter to a recorded answer: whether a
// list may come from a cache. The tools of the ecosystem do not record what a
// module said of it.
func plain(r hostcall.Request) hostcall.Request {
	read, ok := r.(*hostcall.Read)
	if !ok || read.Operation == hostcall.GetResource || !read.DisableCache {
		return r
	}
	cached := *read
	cached.DisableCache = false
	return &cached
}

// Next is the request of the entry that is next; nil if none is left.
func (r *Replay) Next() hostcall.Request {
	if left := r.Left(); len(left) > 0 {
		return left[0].Request
	}
	return nil
}

// Left are the entries that were not used.
func (r *Replay) Left() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// about describes a request so that two that differ do not look the same.
func about(r hostcall.Request) string {
	text, err := encodeRequest(r)
	if err != nil || len(text) > 1000 {
		return r.About()
	}
	return fmt.Sprintf("%s (%q)", r.About(), text)
}

// Recorder passes calls on and records them. Log lines are not recorded.
type Recorder struct {
	Backend contextgate.Backend

	mu        sync.Mutex
	exchanges []Exchange
}

// Answer passes a call on.
func (r *Recorder) Answer(ctx context.Context, a *contextgate.Admitted) ([]byte, error) {
	answer, err := r.Backend.Answer(ctx, a)
	if _, ok := a.Request.(*hostcall.Line); ok {
		return answer, err
	}
	e := Exchange{Request: a.Request, Payload: string(answer)}
	if err != nil {
		e.Payload, e.Failed, e.Message = "", true, err.Error()
		if errors.Is(err, contextgate.ErrHidden) {
			// What the module gets to see.
			e.Message = contextgate.NotFound(a).Error()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, e)
	return answer, err
}

// Exchanges are what was recorded so far.
func (r *Recorder) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exchange(nil), r.exchanges...)
}
