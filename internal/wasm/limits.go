package wasm

import (
	"runtime"
	"time"
)

// Limits bound what a module may use up. A field that is zero takes the value
// that DefaultLimits gives it.
type Limits struct {
	// Deadline ends an evaluation, a host call that it waits for included.
	Deadline time.Duration
	// MemoryPages is how much memory an instance may have, in pages of 64 KiB.
	MemoryPages uint32
	// ModuleBytes is how large a module may be.
	ModuleBytes int
	// PayloadBytes is how much is given to a module: a request with its settings.
	PayloadBytes int
	// ResponseBytes is how much a module may answer.
	ResponseBytes int
	// HostCalls is how many host calls an evaluation may make.
	HostCalls int
	// HostCallBytes is how long the payload of a host call and its answer may be.
	HostCallBytes int
	// LogLines is how many lines an evaluation may log, and LogLineBytes how long
	// each may be; what is longer is cut.
	LogLines, LogLineBytes int
	// LogLinesPerSecond is how many lines all evaluations of a policy may log in
	// the long run. Ten times as many may come at once.
	LogLinesPerSecond int
	// Instances is how many evaluations of one module run at the same time, and
	// how many instances of it are kept.
	Instances int
}

// DefaultLimits are the limits of an Engine that is given none.
func DefaultLimits() Limits {
	return Limits{
		Deadline:          2 * time.Second,
		MemoryPages:       2048, // 128 MiB
		ModuleBytes:       64 << 20,
		PayloadBytes:      8 << 20,
		ResponseBytes:     8 << 20,
		HostCalls:         256,
		HostCallBytes:     32 << 20,
		LogLines:          50,
		LogLineBytes:      1024,
		LogLinesPerSecond: 20,
		Instances:         max(4, 2*runtime.GOMAXPROCS(0)),
	}
}

func orDefault[T int | uint32 | time.Duration](value, preset T) T {
	if value <= 0 {
		return preset
	}
	return value
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Deadline:          orDefault(l.Deadline, d.Deadline),
		MemoryPages:       min(orDefault(l.MemoryPages, d.MemoryPages), 65536),
		ModuleBytes:       orDefault(l.ModuleBytes, d.ModuleBytes),
		PayloadBytes:      orDefault(l.PayloadBytes, d.PayloadBytes),
		ResponseBytes:     orDefault(l.ResponseBytes, d.ResponseBytes),
		HostCalls:         orDefault(l.HostCalls, d.HostCalls),
		HostCallBytes:     orDefault(l.HostCallBytes, d.HostCallBytes),
		LogLines:          orDefault(l.LogLines, d.LogLines),
		LogLineBytes:      orDefault(l.LogLineBytes, d.LogLineBytes),
		LogLinesPerSecond: orDefault(l.LogLinesPerSecond, d.LogLinesPerSecond),
		Instances:         orDefault(l.Instances, d.Instances),
	}
}
