package breakglass

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLedger hands out each use once, by session and pod, and takes back what could
// not be written down.
func TestLedger(t *testing.T) {
	l := &Ledger{}
	for i := range 3 {
		l.add(Use{Session: "s1", Namespace: "dev", Pod: "a", UID: "u", At: noon.Add(time.Duration(i) * time.Second)})
	}
	l.add(Use{Session: "s2", At: noon})
	want := map[string]Uses{
		"s1": {Last: noon.Add(2 * time.Second), Pods: []PodUse{{"dev", "a", "u", Span{noon, noon.Add(2 * time.Second)}}}},
		"s2": {Last: noon},
	}
	taken := l.Take()
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Error(diff)
	}
	if again := l.Take(); len(again) > 0 {
		t.Errorf("handed out twice: %v", again)
	}
	l.add(Use{Session: "s1", Namespace: "dev", Pod: "a", UID: "u", At: noon.Add(time.Minute)})
	l.Restore("s1", taken["s1"])
	want = map[string]Uses{"s1": {Last: noon.Add(time.Minute), Pods: []PodUse{{"dev", "a", "u", Span{noon, noon.Add(time.Minute)}}}}}
	if diff := cmp.Diff(want, l.Take()); diff != "" {
		t.Error(diff)
	}
	s := sessionOf(t, nil)
	if got := l.lastUsed(s); !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("last used %s", got)
	}
	l.Forget(map[string]bool{})
	if got := l.lastUsed(s); !got.IsZero() {
		t.Errorf("not forgotten: %s", got)
	}
}

// TestLedgerManyAtOnce loses no use that many count while others take.
func TestLedgerManyAtOnce(t *testing.T) {
	l := &Ledger{}
	var counting sync.WaitGroup
	for i := range 32 {
		counting.Go(func() {
			for j := range 200 {
				l.add(Use{Session: "s1", Namespace: "dev", Pod: string(rune('a' + i)), At: noon.Add(time.Duration(j) * time.Second)})
			}
		})
	}
	seen := map[string]bool{}
	var mu sync.Mutex
	for range 4 {
		counting.Go(func() {
			for range 50 {
				for _, p := range l.Take()["s1"].Pods {
					mu.Lock()
					seen[p.Name] = true
					mu.Unlock()
				}
			}
		})
	}
	counting.Wait()
	for _, p := range l.Take()["s1"].Pods {
		seen[p.Name] = true
	}
	if len(seen) != 32 {
		t.Errorf("%d pods, want 32", len(seen))
	}
}
