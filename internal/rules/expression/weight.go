package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxWeight is how much a function may be given to work through: items of lists
// and maps, those within counted, and every 100 bytes of text.
//
// A value can be far larger than what it costs to make, since parts of it are
// shared: a list of a list twice, and of that twice, and so on. What functions
// cost is counted once they are done, which is too late for those.
const maxWeight = 100_000

// weight returns how much there is to work through in a value. It stops counting
// a little above limit.
func weight(v ref.Val, limit int) int {
	switch t := v.(type) {
	case types.String:
		return 1 + len(t)/100
	case types.Bytes:
		return 1 + len(t)/100
	case *types.Optional:
		if t.HasValue() {
			return 1 + weight(t.GetValue(), limit)
		}
	case *variableValues:
		// To look inside would evaluate them.
	case traits.Lister:
		return listWeight(t, limit)
	case traits.Mapper:
		return mapWeight(t, limit)
	}
	return 1
}

func listWeight(list traits.Lister, limit int) int {
	size, ok := list.Size().(types.Int)
	if !ok || size > types.Int(limit) {
		return limit + 1
	}
	total := 1
	for i := types.Int(0); i < size && total <= limit; i++ {
		total += weight(list.Get(i), limit-total)
	}
	return total
}

func mapWeight(m traits.Mapper, limit int) int {
	size, ok := m.Size().(types.Int)
	if !ok || size > types.Int(limit) {
		return limit + 1
	}
	total := 1
	for it := m.Iterator(); it.HasNext() == types.True && total <= limit; {
		key := it.Next()
		total += weight(key, limit-total)
		if value, ok := m.Find(key); ok {
			total += weight(value, limit-total)
		}
	}
	return total
}
