package load

import (
	"context"
	"crypto/sha256"
	"time"

	"k8s.io/utils/clock"
)

// How long a Watcher waits.
const (
	// settleTime is how long files must stay as they are before a change counts:
	// editors and copies write in several steps.
	settleTime = 200 * time.Millisecond
	// pollInterval bounds how late a change is noticed that the file system does
	// not tell of, as network file systems do not.
	pollInterval = 10 * time.Second
)

// Watcher notices when what Policies would read from paths changes. It goes by
// content: the file system's notices only make it look sooner. So the swapped
// links of a mounted ConfigMap, the renames of editors, and directories that are
// deleted and made again are all the same to it.
type Watcher struct {
	paths  []string
	clock  clock.WithTicker
	settle time.Duration
	last   [sha256.Size]byte
}

// NewWatcher makes a Watcher. Changes count from now on, so make it before the
// first load.
func NewWatcher(paths []string, clock clock.WithTicker) *Watcher {
	return &Watcher{paths: paths, clock: clock, settle: settleTime, last: Fingerprint(paths)}
}

// Run calls onChange after each change, until ctx ends. Changes that come while
// onChange runs lead to another call.
func (w *Watcher) Run(ctx context.Context, onChange func()) {
	l := listen(w.paths)
	defer l.close()
	poll := w.clock.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		// Listening comes first, so that nothing falls between it and the reading.
		l.rearm()
		if w.changed(ctx) {
			onChange()
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-l.notices:
		case <-poll.C():
		}
	}
}

// changed reports whether the content has changed since the last time, once it
// has come to rest.
func (w *Watcher) changed(ctx context.Context) bool {
	current := Fingerprint(w.paths)
	for current != w.last {
		select {
		case <-ctx.Done():
			return false
		case <-w.clock.After(w.settle):
		}
		settled := Fingerprint(w.paths)
		if settled == current {
			w.last = current
			return true
		}
		current = settled
	}
	return false
}
