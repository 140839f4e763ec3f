package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

const (
	// quiet is how long nothing has to have happened before memory is given back.
	quiet = 10 * time.Second
	// lookEvery is how often is looked for memory that other causes have left, such as
	// lists after an outage that brought nothing new.
	lookEvery = 20 * time.Second
)

// Sweeper gives memory back once what caused it is over. By itself Go keeps up to twice
// of what lives for work that may come, and where many objects were listed again much
// more than that for minutes.
type Sweeper struct {
	clock clock.WithTicker
	used  notice.Notice
	// much reports whether there is enough to be given back, left whether others have left
	// some that nobody uses, and free gives it.
	much, left func() bool
	free       func()
}

// NewSweeper makes a Sweeper of the memory of this process.
func NewSweeper(clock clock.WithTicker) *Sweeper {
	return &Sweeper{clock: clock, used: notice.New(), much: much, left: new(idleMemory).left, free: debug.FreeOSMemory}
}

// Used says that memory is being used. It returns at once.
func (s *Sweeper) Used() { s.used.Give() }

// Ready is always nil: no decision waits for it.
func (s *Sweeper) Ready() error { return nil }

// Run gives memory back each time that it was used and is not any more, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	var over <-chan time.Time
	look := s.clock.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.used:
			over = s.clock.After(quiet)
		case <-look.C():
			if over == nil && s.left() {
				s.free()
			}
		case <-over:
			over = nil
			if s.much() {
				s.free()
			}
		}
	}
}

// Of what is held a quarter, and at least 16 MiB, may not be in use: giving it back costs
// as much as a collection of garbage.
const (
	share = 4
	least = 16 << 20
)

// much reports whether the heap holds much that is not in use.
func much() bool {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	var held uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			held += s.Value.Uint64()
		}
	}
	return worth(held, liveHeap())
}

func worth(held, live uint64) bool {
	return held > live && held-live > least && held-live > live/share
}
