// Package garbage paces the collector for a program that leaves much behind and
// keeps little.
package garbage

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// usualPercent is what the runtime collects by if nobody says otherwise: once
	// the heap has grown by that much of what is in use.
	usualPercent = 100
	// lazyPercent is what a small heap may grow by.
	lazyPercent = 400
	// leastPercent is what a heap of some 100 MiB may grow by, as with thousands of
	// policies and exceptions: it costs more of the collector's time. What lives is
	// spread over all that the heap has grown to once, so that this is what stays.
	leastPercent = 30
	// spareHeap is how much garbage a heap may hold, and wholeHeap how much it may hold
	// altogether where leastPercent lets it. What is much in use is from muchHeap on.
	spareHeap = 64 << 20
	wholeHeap = 120 << 20
	muchHeap  = 256 << 20
	// calm is after what time without a collection the program counts as at rest. Then a
	// heap may hold calmHeap of garbage, and grow by calmPercent at least: who leaves so
	// little behind pays nothing for collecting it early.
	calm        = 15 * time.Second
	calmHeap    = 6 << 20
	calmPercent = 6
)

// percentFor is what the heap may grow by when live bytes of it are in use, and the
// collection before this one is so long ago.
// Every review leaves some 30 KiB behind, while little stays in use: collecting
// less often saves a quarter of the CPU that they take and costs memory that is
// bounded. Where much stays in use, as with large bodies and with pods from a
// watch, it is as the runtime has it.
func percentFor(live uint64, ago time.Duration) int {
	percent := busyPercentFor(live)
	if ago < calm || live == 0 {
		return percent
	}
	return min(max(int(min(calmHeap*100/live, math.MaxInt32)), calmPercent), percent)
}

func busyPercentFor(live uint64) int {
	switch {
	case live == 0:
		return lazyPercent
	case live >= muchHeap:
		return usualPercent
	}
	spare := uint64(spareHeap)
	if live+spare > wholeHeap {
		spare = max(wholeHeap, live) - live
	}
	percent := min(spare*100/live, math.MaxInt32)
	return min(max(int(percent), leastPercent), lazyPercent)
}

// pacer sets the pace of the collector again after each of its cycles.
type pacer struct {
	now func() time.Time

	mu      sync.Mutex
	percent int
	last    time.Time
	before  int
	stopped bool
}

// Pace lets the heap grow further between collections, until stop is
// called. What the user sets takes precedence over it: with GOGC it does nothing, and
// GOMEMLIMIT holds in any case, as the runtime then collects as often as it has
// to. now is a clock.
func Pace(now func() time.Time) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	g := &pacer{now: now, percent: lazyPercent, last: now(), before: debug.SetGCPercent(lazyPercent)}
	g.watch()
	return g.stop
}

// cycle is dropped at once, and so is cleaned up after the next collection.
type cycle struct{ _ *byte }

func (g *pacer) watch() {
	runtime.AddCleanup(&cycle{new(byte)}, func(g *pacer) {
		if g.adjust(liveHeap()) {
			g.watch()
		}
	}, g)
}

// adjust sets the pace for live bytes in use, and reports whether to go on.
func (g *pacer) adjust(live uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	now := g.now()
	ago := now.Sub(g.last)
	g.last = now
	if percent := percentFor(live, ago); percent != g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
	return true
}

func (g *pacer) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	debug.SetGCPercent(g.before)
}

// liveHeap is what the last collection found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		// Not known: as the runtime has it.
		return math.MaxUint64
	}
	return sample[0].Value.Uint64()
}
