package images

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// mostKept bounds the answers that are kept.
const mostKept = 1000

// cache are good answers, which are given again for a while: a registry would not
// bear to be asked at every request of a cluster.
type cache struct {
	clock   clock.PassiveClock
	period  time.Duration
	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	content []byte
	until   time.Time
}

// get gives the answer that is kept, or makes one.
func (k *cache) get(asked any, ask func() ([]byte, error)) ([]byte, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("the question cannot be distinguished from others: %w", err)
	}
	key := fmt.Sprintf("%T %s", asked, text)
	if content, ok := k.find(key); ok {
		return content, nil
	}
	content, err := ask()
	if err == nil && k.period > 0 {
		k.keep(key, content)
	}
	return content, err
}

func (k *cache) find(key string) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.answers[key]
	if !ok || !k.clock.Now().Before(a.until) {
		delete(k.answers, key)
		return nil, false
	}
	return a.content, true
}

func (k *cache) keep(key string, content []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.answers) >= mostKept || k.answers == nil {
		k.answers = map[string]answer{}
	}
	k.answers[key] = answer{content, k.clock.Now().Add(k.period)}
}
