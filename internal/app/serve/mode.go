package serve

import "github.com/sallyport-io/sallyport/internal/app/usage"

// What follows where a policy refuses.
const (
	modeEnforce = "enforce"
	modeObserve = "observe"
)

// readMode takes --mode over.
func (f *Flags) readMode() error {
	switch f.mode {
	case modeEnforce:
	case modeObserve:
		f.server.Observe, f.hosting.observe = true, true
	default:
		return usage.Errorf("--mode is %q; %s or %s is expected", f.mode, modeEnforce, modeObserve)
	}
	return nil
}
