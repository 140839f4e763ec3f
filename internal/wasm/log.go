package wasm

import (
	"bytes"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/text/redact"
)

// log passes one line on, unless there were too many, without what the request
// keeps to itself.
func (e *evaluation) log(stream Stream, line []byte) {
	if e.policy == nil {
		return
	}
	bucket := &e.policy.bucket
	if contextgate.Quiet(e.ctx) {
		bucket = &e.policy.madeUp
	}
	if e.lines++; e.lines > e.limits.LogLines || !bucket.take(time.Now(), e.limits.LogLinesPerSecond) {
		e.dropped++
		return
	}
	// A long line is cut before it is looked at.
	if most := e.limits.LogLineBytes + 4; len(line) > most {
		line = line[:most]
	}
	e.policy.observer.Logged(e.policy.name, stream, redact.From(e.ctx).Text(tidy(string(line), e.limits.LogLineBytes)))
}

// write splits what a module writes to a stream into lines.
func (e *evaluation) write(stream Stream, p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if e.partial == nil {
			e.partial = map[Stream][]byte{}
		}
		kept := e.partial[stream]
		if room := e.limits.LogLineBytes + 4 - len(kept); room > 0 {
			kept = append(kept, line[:min(room, len(line))]...)
		}
		e.partial[stream] = kept
		if ended {
			e.flush(stream)
		}
		p = rest
	}
}

func (e *evaluation) flush(stream Stream) {
	line := e.partial[stream]
	if len(line) == 0 {
		return
	}
	if stream == StreamStderr {
		e.complaint = tidy(string(line), e.limits.LogLineBytes)
	}
	e.log(stream, line)
	e.partial[stream] = line[:0]
}

// finish passes on what is left.
func (e *evaluation) finish() {
	e.flush(StreamStdout)
	e.flush(StreamStderr)
	if e.rego != nil {
		e.rego.Close()
	}
	if e.dropped > 0 {
		e.policy.observer.Dropped(e.policy.name, e.dropped)
	}
}

// bucket holds what may still be logged: so many lines a second, and ten times
// as many at once.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
}

func (b *bucket) take(now time.Time, perSecond int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := 10 * float64(perSecond)
	if b.last.IsZero() {
		b.tokens = full
	} else {
		b.tokens = min(full, b.tokens+now.Sub(b.last).Seconds()*float64(perSecond))
	}
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
