package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	clocktesting "k8s.io/utils/clock/testing"
)

// told is what happened, in the order in which it did.
type told struct {
	mu     sync.Mutex
	events []string
	came   chan string
}

func (o *told) tell(event string) {
	o.mu.Lock()
	o.events = append(o.events, event)
	o.mu.Unlock()
	o.came <- event
}

// await returns when an event has come.
func (o *told) await(t *testing.T, event string) {
	t.Helper()
	for {
		select {
		case came := <-o.came:
			if came == event {
				return
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q does not come after %q", event, o.events)
		}
	}
}

// stubServer is a server that answers nothing.
type stubServer struct {
	*told
	// fails ends Serve, and settle Settle.
	fails  chan error
	settle chan struct{}
}

func (s *stubServer) Serve(ctx context.Context) error {
	select {
	case err := <-s.fails:
		s.tell("the server fails")
		return err
	case <-ctx.Done():
		s.tell("the server ends")
		return nil
	}
}
func (s *stubServer) Leave()   { s.tell("not ready") }
func (s *stubServer) Release() { s.tell("connections end") }
func (s *stubServer) Settle(ctx context.Context) bool {
	select {
	case <-s.settle:
		s.tell("requests have ended")
		return true
	case <-ctx.Done():
		s.tell("requests are not waited for")
		return false
	}
}

// stubSource is a source that takes its time to end.
type stubSource struct {
	*told
	fails chan error
	ends  chan struct{}
}

func (s *stubSource) Run(ctx context.Context) error {
	select {
	case err := <-s.fails:
		s.tell("a source fails")
		return err
	case <-ctx.Done():
	}
	s.tell("a source is to end")
	<-s.ends
	s.tell("a source ends")
	return ctx.Err()
}
func (s *stubSource) Ready() error { return nil }

// ran is a run of both.
type ran struct {
	*told
	run    run
	server *stubServer
	source *stubSource
	clock  *clocktesting.FakeClock
	ask    context.CancelFunc
	signal context.CancelFunc
	result chan error
}

func start(t *testing.T, delay time.Duration) *ran {
	t.Helper()
	o := &told{came: make(chan string, 100)}
	r := &ran{
		told: o, server: &stubServer{o, make(chan error, 1), make(chan struct{})}, source: &stubSource{o, make(chan error, 1), make(chan struct{})},
		clock: clocktesting.NewFakeClock(time.Unix(0, 0)), result: make(chan error, 1),
	}
	signalled, signal := context.WithCancel(context.Background())
	t.Cleanup(signal)
	r.signal = signal
	r.run = run{
		server: r.server, sources: []policySource{r.source}, clock: r.clock, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		endingFlags: endingFlags{delay: delay, resign: func() { o.tell("another leads") }},
		next:        func() (context.Context, context.CancelFunc) { return signalled, func() {} },
		exit:        func(status int) { o.tell(fmt.Sprintf("exit %d", status)) },
	}
	asked, ask := context.WithCancel(t.Context())
	r.ask = ask
	go func() {
		life, end := context.WithCancel(t.Context())
		r.result <- r.run.until(asked, life, end)
	}()
	return r
}

// wait waits until the clock is waited for.
func (r *ran) wait(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !r.clock.HasWaiters(); {
		if time.Now().After(end) {
			t.Fatalf("nothing is waited for after %q", r.events)
		}
	}
}

// ends checks what happened in all, and what run ended with.
func (r *ran) ends(t *testing.T, says string, events ...string) {
	t.Helper()
	err := <-r.result
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("ended with %v, want %q", err, says)
	}
	if !slices.Equal(r.events, events) {
		t.Errorf("got  %q\nwant %q", r.events, events)
	}
}

// TestEnding goes on answering for the delay, lets requests end, has what feeds the server
// end next, and the server last: what a source writes as it ends is judged by it.
func TestEnding(t *testing.T) {
	r := start(t, 10*time.Second)
	r.ask()
	r.await(t, "another leads")
	r.wait(t)
	r.clock.Step(5*time.Second - 1)
	if !r.clock.HasWaiters() || len(r.events) != 2 {
		t.Errorf("before half of the delay: %q", r.events)
	}
	r.clock.Step(1)
	r.await(t, "connections end")
	r.wait(t)
	r.clock.Step(5*time.Second - 1)
	if !r.clock.HasWaiters() || len(r.events) != 3 {
		t.Errorf("before the delay is over: %q", r.events)
	}
	r.clock.Step(1)
	close(r.server.settle)
	r.await(t, "a source is to end")
	close(r.source.ends)
	r.ends(t, "", "not ready", "another leads", "connections end", "connections end", "requests have ended", "a source is to end", "a source ends", "the server ends")
}

// TestEndingWithoutDelay waits for requests only.
func TestEndingWithoutDelay(t *testing.T) {
	r := start(t, 0)
	close(r.source.ends)
	r.ask()
	r.await(t, "connections end")
	close(r.server.settle)
	r.ends(t, "", "not ready", "another leads", "connections end", "connections end", "requests have ended", "a source is to end", "a source ends", "the server ends")
}

// TestSecondSignal ends the process at once, whatever is waited for then.
func TestSecondSignal(t *testing.T) {
	for name, c := range map[string]struct {
		delay time.Duration
		// until is the last that happens before the signal.
		until string
		fails bool
	}{
		"in the delay":                       {time.Hour, "another leads", false},
		"while requests run":                 {0, "connections end", false},
		"while what feeds the server ends":   {0, "a source is to end", false},
		"after the server failed, the first": {time.Hour, "a source is to end", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, c.delay)
			if c.until == "a source is to end" {
				close(r.server.settle)
			}
			if c.fails {
				r.server.fails <- errors.New("it broke")
			} else {
				r.ask()
			}
			r.await(t, c.until)
			r.signal()
			r.await(t, "exit 1")
			// It is not waited for what never ends.
			select {
			case err := <-r.result:
				t.Errorf("ended by itself: %v", err)
			default:
			}
		})
	}
}

// TestExiting tells the audit log what was decided, and waits no longer than a moment.
func TestExiting(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		clock, ended, release := clocktesting.NewFakeClock(time.Unix(0, 0)), make(chan int), make(chan struct{})
		wrote := false
		go exiting(func() {
			if hangs {
				<-release
			}
			wrote = true
		}, clock, func(status int) { ended <- status })(1)
		if hangs {
			for !clock.HasWaiters() {
			}
			clock.Step(lastEvents)
		}
		if status := <-ended; status != 1 || !hangs && !wrote {
			t.Errorf("hangs %v: status %d, wrote %v", hangs, status, wrote)
		}
		close(release)
	}
}

// TestEndingUnasked ends all at once where a part of it does, also within the delay:
// policies that are not kept up to date are not to be answered by.
func TestEndingUnasked(t *testing.T) {
	leaving := []string{"not ready", "another leads"}
	for name, c := range map[string]struct {
		asked, server bool
		events        []string
	}{
		"a source":                {false, false, []string{"a source fails", "the server ends"}},
		"the server":              {false, true, []string{"the server fails", "a source is to end", "a source ends"}},
		"a source in the delay":   {true, false, slices.Concat(leaving, []string{"a source fails", "the server ends"})},
		"the server in the delay": {true, true, slices.Concat(leaving, []string{"the server fails", "a source is to end", "a source ends"})},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, time.Hour)
			close(r.source.ends)
			if c.asked {
				r.ask()
				r.wait(t)
			}
			if c.server {
				r.server.fails <- errors.New("it broke")
			} else {
				r.source.fails <- errors.New("it broke")
			}
			r.ends(t, "it broke", c.events...)
		})
	}
}

// TestNextSignal ends with a signal, which does not end the program by itself.
func TestNextSignal(t *testing.T) {
	next, stop := nextSignal()
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-next.Done()
}

// TestTimesOfEnding refuses those that cannot be.
func TestTimesOfEnding(t *testing.T) {
	for args, want := range map[string]string{
		"--shutdown-delay=0s --connection-max-age=0s": "",
		"--shutdown-delay=-1s":                        "--shutdown-delay is -1s; a time of 0 or more is expected",
		"--connection-max-age=-1s":                    "--connection-max-age is -1s; a time of 0 or more is expected",
	} {
		f, cmd := &Flags{}, &cobra.Command{}
		f.Add(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Complete(io.Discard); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
