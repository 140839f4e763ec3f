package garbage

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestSweeper gives memory back 10 s after it was used last, once, and only where there
// is much of it.
func TestSweeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSweeper(clock.RealClock{})
		var freed atomic.Int32
		var much atomic.Bool
		much.Store(true)
		var left atomic.Bool
		s.free, s.much, s.left = func() { freed.Add(1) }, much.Load, left.Load
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		want := func(when string, times int32) {
			t.Helper()
			synctest.Wait()
			if got := freed.Load(); got != times {
				t.Errorf("%s: memory was given back %d times, want %d", when, got, times)
			}
		}
		time.Sleep(time.Hour)
		want("unused", 0)
		for range 5 {
			s.Used()
			time.Sleep(quiet - time.Millisecond)
			want("in use", 0)
		}
		time.Sleep(time.Millisecond)
		want("once it is over", 1)
		time.Sleep(time.Hour)
		want("after that", 1)
		much.Store(false)
		s.Used()
		time.Sleep(time.Hour)
		want("where there is little", 1)
		left.Store(true)
		time.Sleep(lookEvery)
		left.Store(false)
		time.Sleep(time.Hour)
		want("where something else has left it", 2)
		left.Store(true)
		for range 2 * lookEvery / time.Second {
			s.Used()
			time.Sleep(time.Second)
		}
		want("left, and in use", 2)
		left.Store(false)
		cancel()
		if err := <-ended; err != nil || s.Ready() != nil {
			t.Error(err)
		}
	})
}

// TestIdleMemory is given back while little happens.
func TestIdleMemory(t *testing.T) {
	m := &idleMemory{}
	for _, c := range []struct {
		cycles, free uint64
		want         bool
	}{{100, 100 << 20, false}, {100, 100 << 20, true}, {101, 100 << 20, true}, {103, 100 << 20, false}, {103, idle, false}, {103, idle + 1, true}} {
		if got := m.unused(c.cycles, c.free); got != c.want {
			t.Errorf("after %d collections, %d MiB free: %v", c.cycles, c.free>>20, got)
		}
	}
	kept := make([]byte, 64<<20)
	runtime.KeepAlive(kept)
	kept = nil
	runtime.GC()
	of := &idleMemory{}
	of.left()
	if !of.left() {
		t.Error("64 MiB that nothing uses are not seen")
	}
}

// TestWorth gives back what is worth a collection.
func TestWorth(t *testing.T) {
	for _, c := range []struct {
		held, live uint64
		want       bool
	}{
		{100 << 20, 100 << 20, false}, {120 << 20, 100 << 20, false}, {126 << 20, 100 << 20, true},
		{26 << 20, 10 << 20, false}, {27 << 20, 10 << 20, true}, {10 << 20, 100 << 20, false},
	} {
		if got := worth(c.held, c.live); got != c.want {
			t.Errorf("of %d MiB held %d are live: %v", c.held>>20, c.live>>20, got)
		}
	}
}

// TestMuch sees garbage, and that it was given back.
func TestMuch(t *testing.T) {
	s := NewSweeper(clock.RealClock{})
	s.free()
	if s.much() {
		t.Error("there is much right after it was given back")
	}
	var garbage [][]byte
	for range 64 {
		garbage = append(garbage, make([]byte, 1<<20))
	}
	if !s.much() {
		t.Error("64 MiB more are not much")
	}
	runtime.KeepAlive(garbage)
}
