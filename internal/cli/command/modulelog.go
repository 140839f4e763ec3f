package command

import (
	"fmt"
	"io"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// ModuleLog writes what a module logs.
type ModuleLog struct{ Out io.Writer }

func (o *ModuleLog) Evaluated(string, string, time.Duration, wasm.Reason) {}
func (o *ModuleLog) HostCalled(string, wasm.Call, time.Duration, error)   {}
func (o *ModuleLog) Instantiated(string, time.Duration)                   {}
func (o *ModuleLog) Logged(_ string, _ wasm.Stream, line string) {
	fmt.Fprintln(o.Out, decision.Clean(line))
}
func (o *ModuleLog) Dropped(_ string, lines int) {
	fmt.Fprintf(o.Out, "... and %d more lines\n", lines)
}
