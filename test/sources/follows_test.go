package sources

import (
	"regexp"
	"strings"
	"testing"
)

// makesCache is how a cache is made that an API server feeds, and makesFactory how one is
// that cannot be fed in another way than client-go's.
var (
	makesCache   = regexp.MustCompile(`cache\.New(SharedIndexInformer|SharedInformer|Informer|Reflector)\w*\(`)
	makesFactory = regexp.MustCompile(`\b\w+\.New\w*SharedInformerFactory\w*\(|\bctrl\.NewManager\(|\bmanager\.New\(`)
)

// TestCachesAreFollowed finds caches that internal/watch/follow does not feed: after an outage
// client-go waits before it lists, for longer each time and up to a minute.
func TestCachesAreFollowed(t *testing.T) {
	found := 0
	eachSource(t, func(path, source string) {
		if at := makesFactory.FindString(source); at != "" {
			t.Errorf("%s has %s, whose watches internal/watch/follow cannot feed", path, at)
		}
		if !makesCache.MatchString(source) {
			return
		}
		found++
		if !strings.Contains(source, "follow.Source(") {
			t.Errorf("%s makes a cache that follow.Source does not feed", path)
		}
	})
	if found < 7 {
		t.Errorf("only %d files make caches", found)
	}
}
