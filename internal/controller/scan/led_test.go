package scan

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/observe/report"
)

// counted are reports that are counted, and cannot be written for a while.
type counted struct {
	written atomic.Int32
	held    atomic.Bool
}

func (c *counted) Write(context.Context, []report.Report) error {
	if c.held.Load() {
		return errors.New("another replica leads now")
	}
	c.written.Add(1)
	return nil
}

// TestLed scans at once where this replica comes to lead, and what is found was not
// written by itself a short time before; and not before all is known to judge by.
func TestLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScanned(t, &stored{kinds: []Kind{kind("", "v1", "Pod", "pods")}}, labelled)
		reports := &counted{}
		var known, leads atomic.Bool
		s.Clock, s.Reports, s.Known, s.Leads = clock.RealClock{}, reports, known.Load, leads.Load
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Scanner.Run(ctx) }()
		// after lets time pass, and expects how often reports were written until then.
		after := func(d time.Duration, what string, want int32) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := reports.written.Load(); got != want {
				t.Errorf("%s: reports were written %d times, want %d", what, got, want)
			}
		}
		after(59*time.Minute, "a replica that does not lead", 0)
		leads.Store(true)
		s.Led()
		after(30*time.Second, "while policies are not known", 0)
		known.Store(true)
		after(knownEvery, "once they are", 1)
		s.Led()
		after(30*time.Minute, "led again soon", 1)
		after(31*time.Minute, "an hour after it came to lead", 2)
		// It is interrupted in the next, and leads again when that is over.
		reports.held.Store(true)
		after(time.Hour, "while another leads", 2)
		reports.held.Store(false)
		s.Led()
		after(time.Second, "after one that was interrupted", 3)
		after(time.Hour, "in the end", 4)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
