package garbage

import "runtime/metrics"

// idle is how much memory the heap may hold that it does not use, and busy how many
// collections between two looks show that it will.
const (
	idle = 8 << 20
	busy = 1
)

// idleMemory is memory that the heap holds and does not use, while little happens.
type idleMemory struct{ cycles uint64 }

// left reports whether there is much of it, and few collections since it was last asked.
func (m *idleMemory) left() bool {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return false
	}
	return m.unused(samples[0].Value.Uint64(), samples[1].Value.Uint64())
}

func (m *idleMemory) unused(cycles, free uint64) bool {
	since := cycles - m.cycles
	m.cycles = cycles
	return since <= busy && free > idle
}
