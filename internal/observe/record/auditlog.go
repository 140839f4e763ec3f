package record

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// queueLength is how many events wait to be written, at about 2 KiB each, before
// further ones are dropped and counted.
const queueLength = 8192

// AuditLog writes events as JSON, one a line, behind a bounded queue: a disk
// that is slow or full never holds up a decision. What is lost is counted.
type AuditLog struct {
	path    string
	queue   chan *Event
	reopen  chan chan error
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once

	events                   *prometheus.CounterVec
	written, dropped, failed prometheus.Counter
	// pending is how many events stand in the buffer.
	pending int
}

// OpenAuditLog opens the log at path for appending; a file that is made is
// readable only by its owner. "-" is standard output. Close must be called.
func OpenAuditLog(path string) (*AuditLog, error) {
	out, err := openLog(path)
	if err != nil {
		return nil, err
	}
	events := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sallyport_audit_events_total",
		Help: "Audit events by what became of them: written, dropped because too many were waiting, or failed to be written.",
	}, []string{"outcome"})
	l := &AuditLog{
		path: path, queue: make(chan *Event, queueLength), reopen: make(chan chan error),
		closing: make(chan struct{}), closed: make(chan struct{}), events: events,
		written: events.WithLabelValues("written"), dropped: events.WithLabelValues("dropped"), failed: events.WithLabelValues("failed"),
	}
	go l.run(out)
	return l, nil
}

// Add hands over an event, and never waits.
func (l *AuditLog) Add(e *Event) {
	select {
	case l.queue <- e:
	default:
		l.dropped.Inc()
	}
}

// addIfRoom hands over an event where at most half as many wait as can.
func (l *AuditLog) addIfRoom(e *Event) {
	if len(l.queue) > cap(l.queue)/2 {
		l.dropped.Inc()
		return
	}
	l.Add(e)
}

// Reopen opens the file again, after it was moved away. If that fails, the old
// one is kept, and the error returned.
func (l *AuditLog) Reopen() error {
	result := make(chan error, 1)
	select {
	case l.reopen <- result:
		return <-result
	case <-l.closed:
		return fmt.Errorf("audit log %s is closed", l.path)
	}
}

// Close writes what waits and closes the file. Events that are added afterwards
// are dropped.
func (l *AuditLog) Close() {
	l.once.Do(func() { close(l.closing) })
	<-l.closed
}

// Describe implements prometheus.Collector.
func (l *AuditLog) Describe(to chan<- *prometheus.Desc) { l.events.Describe(to) }

// Collect implements prometheus.Collector.
func (l *AuditLog) Collect(to chan<- prometheus.Metric) { l.events.Collect(to) }

func (l *AuditLog) run(out io.WriteCloser) {
	defer close(l.closed)
	w := bufio.NewWriterSize(out, 64<<10)
	for {
		select {
		case e := <-l.queue:
			l.write(w, e)
			if len(l.queue) == 0 {
				l.flush(w, out)
			}
		case result := <-l.reopen:
			l.flush(w, out)
			next, err := openLog(l.path)
			if err == nil {
				out.Close()
				out = next
				w.Reset(out)
			}
			result <- err
		case <-l.closing:
			for {
				select {
				case e := <-l.queue:
					l.write(w, e)
					continue
				default:
				}
				break
			}
			l.flush(w, out)
			out.Close()
			return
		}
	}
}

// write buffers one event. An error of the buffer stays there for flush to find.
func (l *AuditLog) write(w *bufio.Writer, e *Event) {
	line, err := apijson.Marshal(e)
	if err != nil {
		l.failed.Inc()
		return
	}
	l.pending++
	_, _ = w.Write(append(line, '\n'))
}

// flush writes what is buffered, and counts it. A writer that failed once fails
// forever, so it is reset: the disk may have room again.
func (l *AuditLog) flush(w *bufio.Writer, out io.Writer) {
	outcome := l.written
	if err := w.Flush(); err != nil {
		outcome = l.failed
		w.Reset(out)
	}
	outcome.Add(float64(l.pending))
	l.pending = 0
}

func openLog(path string) (io.WriteCloser, error) {
	if path == "-" {
		return stdout{}, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the audit log cannot be opened: %w", err)
	}
	return f, nil
}

// stdout is standard output, which is never closed.
type stdout struct{}

func (stdout) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdout) Close() error                { return nil }
