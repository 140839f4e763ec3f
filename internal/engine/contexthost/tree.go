package contexthost

import (
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Bounds of the trees that are kept. Those of answers that nobody gets any more
// are not asked for again, and go when they were not for a while.
const (
	maxTrees     = 64
	maxTreeBytes = 16 << 20
	idleTree     = 10 * time.Second
	// treeFactor is how much more a tree takes than its JSON, as an estimate.
	treeFactor = 6
)

// trees keeps the trees of answers that were decoded, since the inventory gives
// the same answer until something changes. Such an answer is the same memory, and
// is known by its first byte: as long as it stands here, nothing else can be
// there.
type trees struct {
	mu    sync.Mutex
	kept  map[*byte]*cachedTree
	bytes int
}

type cachedTree struct {
	answer []byte
	tree   map[string]any
	used   time.Time
}

// of gives the tree of an answer.
func (t *trees) of(answer []byte, now time.Time) (map[string]any, error) {
	if len(answer) == 0 {
		return apijson.Tree(answer)
	}
	at := &answer[0]
	t.mu.Lock()
	if kept := t.kept[at]; kept != nil && len(kept.answer) == len(answer) {
		kept.used = now
		t.mu.Unlock()
		return kept.tree, nil
	}
	t.mu.Unlock()
	tree, err := apijson.Tree(answer)
	if err != nil || len(answer) > maxTreeBytes {
		return tree, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(at)
	for at, kept := range t.kept {
		if now.Sub(kept.used) >= idleTree {
			t.drop(at)
		}
	}
	for len(t.kept) >= maxTrees || t.bytes+len(answer) > maxTreeBytes {
		t.drop(t.oldest())
	}
	if t.kept == nil {
		t.kept = map[*byte]*cachedTree{}
	}
	t.kept[at] = &cachedTree{answer: answer, tree: tree, used: now}
	t.bytes += len(answer)
	return tree, nil
}

func (t *trees) oldest() *byte {
	var oldest *byte
	for at, kept := range t.kept {
		if oldest == nil || kept.used.Before(t.kept[oldest].used) {
			oldest = at
		}
	}
	return oldest
}

// clear gives all of them up.
func (t *trees) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.bytes = nil, 0
}

// size is what they take, as an estimate.
func (t *trees) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(t.bytes) * treeFactor
}

func (t *trees) drop(at *byte) {
	if kept := t.kept[at]; kept != nil {
		t.bytes -= len(kept.answer)
		delete(t.kept, at)
	}
}
