package contexthost

import (
	"sync"

	"github.com/sallyport-io/sallyport/internal/wire"
)

// Bounds of the trees that are kept. A tree takes several times what its JSON
// does.
const (
	maxTrees     = 64
	maxTreeBytes = 16 << 20
)

// trees keeps the trees of answers that were decoded, since the inventory gives
// the same answer until something changes. Such an answer is the same memory, and
// is known by its first byte: as long as it stands here, nothing else can be
// there.
type trees struct {
	mu    sync.Mutex
	kept  map[*byte]*keptTree
	uses  uint64
	bytes int
}

type keptTree struct {
	answer []byte
	tree   map[string]any
	used   uint64
}

// of gives the tree of an answer.
func (t *trees) of(answer []byte) (map[string]any, error) {
	if len(answer) == 0 {
		return wire.Tree(answer)
	}
	at := &answer[0]
	t.mu.Lock()
	t.uses++
	if kept := t.kept[at]; kept != nil && len(kept.answer) == len(answer) {
		kept.used = t.uses
		t.mu.Unlock()
		return kept.tree, nil
	}
	t.mu.Unlock()
	tree, err := wire.Tree(answer)
	if err != nil || len(answer) > maxTreeBytes {
		return tree, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(at)
	for len(t.kept) >= maxTrees || t.bytes+len(answer) > maxTreeBytes {
		t.drop(t.oldest())
	}
	if t.kept == nil {
		t.kept = map[*byte]*keptTree{}
	}
	t.kept[at] = &keptTree{answer: answer, tree: tree, used: t.uses}
	t.bytes += len(answer)
	return tree, nil
}

func (t *trees) oldest() *byte {
	var oldest *byte
	for at, kept := range t.kept {
		if oldest == nil || kept.used < t.kept[oldest].used {
			oldest = at
		}
	}
	return oldest
}

func (t *trees) drop(at *byte) {
	if kept := t.kept[at]; kept != nil {
		t.bytes -= len(kept.answer)
		delete(t.kept, at)
	}
}
