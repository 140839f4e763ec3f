package contexthost

import (
	"context"
	"sync"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// maxRecorded bounds the reads, and the refusals, that one result lists.
const maxRecorded = 16

// Recorder collects what one evaluation read, and what was refused to it.
type Recorder struct {
	trace inventory.Trace
	mu    sync.Mutex
	list  []decision.DeniedRead
	more  int
}

type recorderKey struct{}

// WithRecorder makes a context whose reads and refusals are recorded.
func WithRecorder(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{}
	return inventory.WithTrace(context.WithValue(ctx, recorderKey{}, r), &r.trace), r
}

func recorderOf(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

func (r *Recorder) denied(d *contextgate.Denied) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if one := &r.list[i]; one.Resource == d.Resource && one.Verb == d.Verb && one.Why == d.Why {
			return
		}
	}
	if len(r.list) >= maxRecorded {
		r.more++
		return
	}
	r.list = append(r.list, decision.DeniedRead{Resource: d.Resource, Verb: d.Verb, Why: d.Why, At: d.At.UTC()})
}

// Context is what was recorded, for a decision.Result; nil if that is nothing.
func (r *Recorder) Context() *decision.Context {
	readings := r.trace.Readings()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(readings)+len(r.list) == 0 {
		return nil
	}
	c := &decision.Context{Denied: r.list, More: r.more}
	for i := range readings {
		if i >= maxRecorded {
			c.More += len(readings) - i
			break
		}
		one := &readings[i]
		c.Reads = append(c.Reads, decision.Read{
			Resource: one.Resource.String(), Verb: one.Verb, Namespace: one.Namespace, Name: one.Name, Objects: one.Objects,
			At: one.At.UTC(), AgeSeconds: one.Age.Seconds(), Direct: one.Direct,
		})
	}
	return c
}
