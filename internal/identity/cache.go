package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// maxCached bounds how many permissions a Cache keeps.
const maxCached = 4096

// Cache remembers permissions that were found, for claims whose source says for
// how long. It keeps no refusals: who was granted a permission after being refused
// is not to wait for it. A nil Cache remembers nothing.
type Cache struct {
	clock func() time.Time

	mu sync.Mutex
	// asked is when the permission was asked for.
	asked map[[sha256.Size]byte]time.Time
}

// NewCache makes a Cache that tells the time by clock.
func NewCache(clock func() time.Time) *Cache {
	return &Cache{clock: clock, asked: map[[sha256.Size]byte]time.Time{}}
}

func (c *Cache) now() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.clock()
}

// granted reports whether the claim may be taken to be granted to the user.
func (c *Cache) granted(user request.User, claim *Claim) bool {
	if c == nil || claim.CacheFor <= 0 {
		return false
	}
	key, now := cacheKey(user, claim), c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, ok := c.asked[key]
	return ok && fresh(asked, now, min(claim.CacheFor, MaxCache))
}

// fresh is false also for what lies ahead, after the clock was set back.
func fresh(asked, now time.Time, most time.Duration) bool {
	age := now.Sub(asked)
	return age >= 0 && age < most
}

// keep remembers that the claim was granted when it was asked for.
func (c *Cache) keep(user request.User, claim *Claim, asked time.Time) {
	if c == nil || claim.CacheFor <= 0 {
		return
	}
	key, now := cacheKey(user, claim), c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.asked[key]; !known && len(c.asked) >= maxCached {
		maps.DeleteFunc(c.asked, func(_ [sha256.Size]byte, asked time.Time) bool { return !fresh(asked, now, MaxCache) })
		for other := range c.asked {
			if len(c.asked) < maxCached {
				break
			}
			delete(c.asked, other)
		}
	}
	c.asked[key] = asked
}

// cacheKey is a digest of the whole question: everything about the user that an
// authorizer can turn on, and what is asked. Each part has its length before it,
// so that no two questions run into one.
func cacheKey(user request.User, claim *Claim) [sha256.Size]byte {
	var b []byte
	part := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	list := func(values []string) {
		b = binary.AppendUvarint(b, uint64(len(values)))
		for _, value := range values {
			part(value)
		}
	}
	part(user.Name)
	part(user.UID)
	list(user.Groups)
	names := slices.Sorted(maps.Keys(user.Extra))
	list(names)
	for _, name := range names {
		list(user.Extra[name])
	}
	a := claim.Attributes()
	list([]string{a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name})
	return sha256.Sum256(b)
}
