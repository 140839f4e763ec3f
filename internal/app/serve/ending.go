package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// defaultDelay is enough for a readiness probe to fail, for endpoints to change, and for
// that to reach every node.
const defaultDelay = 10 * time.Second

// endingFlags say how a replica ends.
type endingFlags struct {
	delay time.Duration
	// resign has another replica lead; nil where none does.
	resign func()
}

func (f *endingFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.delay, "shutdown-delay", defaultDelay, "time for which requests are still answered once the program was told to end and /readyz says so, until API servers have come to ask other replicas; 0 is for none; a second signal ends the program at once")
}

func (f *endingFlags) check() error {
	if f.delay < 0 {
		return usage.Errorf("--shutdown-delay is %s; a time of 0 or more is expected", f.delay)
	}
	return nil
}

// answering is the server, as it is seen from here.
type answering interface {
	// Serve answers until ctx ends, and then waits for requests that run.
	Serve(ctx context.Context) error
	// Leave has readyz fail, Release has answers end their connections, and Settle waits
	// for the requests that run now.
	Leave()
	Release()
	Settle(ctx context.Context) bool
}

// run is a server with what feeds it, until both have ended.
type run struct {
	server  answering
	sources []policySource
	endingFlags
	clock clock.Clock
	// next is a context that ends with the next signal, and exit ends the process.
	next func() (context.Context, context.CancelFunc)
	exit func(status int)
	log  *slog.Logger

	ended  chan error
	ending int
	served chan error
}

// nextSignal is a context that ends with the next signal that asks for an end.
func nextSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// until runs until asked ends, or until the server or a source does. life is the context
// of all that runs, and end ends it. All of it has ended on return; the error is that of
// what ended unasked.
func (r *run) until(asked, life context.Context, end func()) error {
	r.ended, r.served = make(chan error, len(r.sources)), make(chan error, 1)
	for _, source := range r.sources {
		go func() { r.ended <- source.Run(life) }()
	}
	serve, stop := context.WithCancel(context.WithoutCancel(life))
	defer stop()
	go func() { r.served <- r.server.Serve(serve) }()
	broke, err := r.unasked(asked.Done(), nil)
	next, forget := r.next()
	defer forget()
	defer context.AfterFunc(next, r.drop)()
	if !broke {
		err = r.leave()
	}
	// What feeds the server ends before it: what it still writes, such as how often
	// exceptions were used, comes back as a request to be judged, to here where there is
	// no other replica.
	end()
	for ; r.ending < len(r.sources); r.ending++ {
		err = errors.Join(err, unlessEnded(<-r.ended))
	}
	stop()
	return errors.Join(err, unlessEnded(<-r.served))
}

// drop ends the process while it ends: whoever sends a signal to what is ending already
// waits for nothing more, whatever it is that takes so long.
func (r *run) drop() {
	r.log.Warn("a signal came while the program was ending: it ends at once, with what it was still doing")
	r.exit(1)
}

// lastEvents is how long the end of the process at once waits for the audit log.
const lastEvents = time.Second

// exiting is an exit that first has tell write to the audit log what was decided, where that
// takes no longer than a moment.
func exiting(tell func(), clock clock.Clock, exit func(status int)) func(status int) {
	return func(status int) {
		told := make(chan struct{})
		go func() {
			defer close(told)
			tell()
		}()
		select {
		case <-told:
		case <-clock.After(lastEvents):
		}
		exit(status)
	}
}

// unlessEnded is an error, unless it is that of what was ended.
func unlessEnded(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// unasked waits until one of two things happens, and reports whether a source or the
// server ended before them, with its error.
func (r *run) unasked(first <-chan struct{}, second <-chan time.Time) (broke bool, err error) {
	select {
	case err = <-r.ended:
		r.ending++
		return true, unlessEnded(err)
	case err = <-r.served:
		r.served <- nil
		return true, err
	case <-first:
	case <-second:
	}
	return false, nil
}

// leave goes on answering, by policies that are kept up to date, until nobody is left to
// ask: for half of the delay until endpoints have changed, and for the other half with
// each answer the last on its connection, as whoever has one goes on using it. What
// writes gives that up at once, so that another replica does it.
func (r *run) leave() error {
	r.server.Leave()
	if r.resign != nil {
		r.resign()
	}
	if r.delay > 0 {
		r.log.Info("ending: requests are still answered until API servers ask other replicas; another signal ends the program at once", "delay", r.delay.String())
	}
	for _, part := range []time.Duration{r.delay / 2, r.delay - r.delay/2} {
		if part > 0 {
			timer := r.clock.NewTimer(part)
			broke, err := r.unasked(nil, timer.C())
			timer.Stop()
			if broke {
				return err
			}
		}
		r.server.Release()
	}
	r.server.Settle(context.Background())
	return nil
}
