package workflow

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// overlaps names, for an object, others that excuse the same rules for the same
// resources.
type overlaps map[types.UID][]string

// maxOverlaps bounds how many are named.
const maxOverlaps = 10

// overlapsIn finds exceptions that are about the very same: the same rules, and
// resources that are written the same.
func overlapsIn(set *exception.Set) overlaps {
	groups := map[string][]*exception.Exception{}
	for _, p := range set.Exceptions() {
		for _, key := range p.About() {
			groups[key] = append(groups[key], p)
		}
	}
	found := overlaps{}
	for _, group := range groups {
		for _, p := range group {
			for _, other := range group {
				if len(found[p.UID()]) >= maxOverlaps {
					break
				}
				name := other.Names.Kind + " " + cmp.Or(other.Names.Namespace, "-") + "/" + other.Names.Name
				if other.UID() == p.UID() || slices.Contains(found[p.UID()], name) {
					continue
				}
				found[p.UID()] = append(found[p.UID()], name)
			}
		}
	}
	for uid := range found {
		slices.Sort(found[uid])
	}
	return found
}
