package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGarbagePercent(t *testing.T) {
	for _, tt := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing", 0, 400}, {"a byte", 1, 400}, {"little", 10 << 20, 400}, {"as much as can be lazy", 16 << 20, 400},
		{"more", 32 << 20, 200}, {"as much as is spared", 56 << 20, 114}, {"more than that", 64 << 20, 87}, {"many", 80 << 20, 50}, {"thousands of policies", 100 << 20, 30}, {"more than the whole", 200 << 20, 30}, {"too much to save", 256 << 20, 100}, {"much", 4 << 30, 100}, {"not known", 1<<64 - 1, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, ago := range []time.Duration{0, calm - 1} {
				if got := percentFor(tt.live, ago); got != tt.want {
					t.Errorf("got %d, want %d", got, tt.want)
				}
			}
		})
	}
}

// TestGarbageAtRest lets a heap hold less where collections are far apart, and never
// more than where they are not.
func TestGarbageAtRest(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1: 400, 6 << 20: 100, 24 << 20: 25, 60 << 20: 10, 100 << 20: 6, 200 << 20: 6, 4 << 30: 6, 1<<64 - 1: 6} {
		if got := percentFor(live, calm); got != want {
			t.Errorf("%d MiB: got %d, want %d", live>>20, got, want)
		}
	}
	now := time.Unix(0, 0)
	g := &pacer{now: func() time.Time { return now }, last: now, before: usualPercent}
	defer g.stop()
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{time.Second, 30}, {calm, 6}, {calm - 1, 30}, {2 * calm, 6}} {
		now = now.Add(step.after)
		if g.adjust(100 << 20); percentNow() != step.want {
			t.Errorf("%s after the last collection it is %d, want %d", step.after, percentNow(), step.want)
		}
	}
}

// percentNow reads what is set, which can only be read by setting it.
func percentNow() int {
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

// TestPaceGarbage sets the pace, gives it back, and keeps what the user sets.
func TestPaceGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	os.Unsetenv("GOGC")
	before := debug.SetGCPercent(150)
	defer debug.SetGCPercent(before)
	stop := Pace(time.Now)
	if got := percentNow(); got != lazyPercent {
		t.Errorf("%d, want %d", got, lazyPercent)
	}
	stop()
	if got := percentNow(); got != 150 {
		t.Errorf("%d was given back, want 150", got)
	}
	t.Setenv("GOGC", "50")
	debug.SetGCPercent(50)
	stop = Pace(time.Now)
	if got := percentNow(); got != 50 {
		t.Errorf("%d, want what the user set", got)
	}
	stop()
	if got := percentNow(); got != 50 {
		t.Errorf("%d, want what the user set", got)
	}
}

// TestPaceFollowsTheHeap holds much, and waits for a collection to notice.
func TestPaceFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	os.Unsetenv("GOGC")
	stop := Pace(time.Now)
	defer stop()
	until := func(when string, reached func(percent int) bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !reached(percentNow()); runtime.GC() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the pace is %d", when, percentNow())
			}
		}
	}
	held := make([]byte, 2*spareHeap)
	until("much is held", func(percent int) bool { return percent == leastPercent })
	runtime.KeepAlive(held)
	held = nil
	until("it is given up", func(percent int) bool { return percent == lazyPercent })
}
