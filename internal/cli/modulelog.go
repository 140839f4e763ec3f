package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// lineObserver writes what a module logs.
type lineObserver struct{ out io.Writer }

func (o *lineObserver) Evaluated(string, string, time.Duration, wasm.Reason) {}
func (o *lineObserver) HostCalled(string, wasm.Call, time.Duration, error)   {}
func (o *lineObserver) Instantiated(string, time.Duration)                   {}
func (o *lineObserver) Logged(_ string, _ wasm.Stream, line string) {
	fmt.Fprintln(o.out, decision.Clean(line))
}
func (o *lineObserver) Dropped(_ string, lines int) {
	fmt.Fprintf(o.out, "... and %d more lines\n", lines)
}
