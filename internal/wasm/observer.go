package wasm

import "time"

// Observer is told of what modules do, for metrics and logs. It is called from
// many goroutines, during an evaluation, and must not block.
type Observer interface {
	// Evaluated ends every evaluation. The reason is empty where it came to an
	// answer.
	Evaluated(policy, operation string, took time.Duration, reason Reason)
	// HostCalled ends every host call that reached the host.
	HostCalled(policy string, call Call, took time.Duration, err error)
	// Logged is one line that a module wrote. It is printable and bounded.
	Logged(policy string, stream Stream, line string)
	// Dropped says how many lines were not logged, because there were too many.
	Dropped(policy string, lines int)
	// Instantiated says that an instance was made, for it costs time and memory.
	Instantiated(policy string, took time.Duration)
}

// Stream is where a module wrote a line to.
type Stream string

// The streams of a module.
const (
	StreamConsole Stream = "console" // __console_log
	StreamStdout  Stream = "stdout"
	StreamStderr  Stream = "stderr"
)

type silent struct{}

func (silent) Evaluated(string, string, time.Duration, Reason) {}
func (silent) HostCalled(string, Call, time.Duration, error)   {}
func (silent) Logged(string, Stream, string)                   {}
func (silent) Dropped(string, int)                             {}
func (silent) Instantiated(policy string, took time.Duration)  {}
