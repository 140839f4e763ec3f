package serve

import "github.com/sallyport-io/sallyport/internal/app/usage"

// What follows where a policy refuses.
const (
	modeEnforce = "enforce"
	modeObserve = "observe"
)

// readMode takes --mode over, and what it says of webhooks.
func (f *Flags) readMode() error {
	switch f.mode {
	case modeEnforce:
	case modeObserve:
		f.server.Observe = true
	default:
		return usage.Errorf("--mode is %q; %s or %s is expected", f.mode, modeEnforce, modeObserve)
	}
	f.hosting.letIn = f.server.Observe || f.webhooks.letsIn()
	return nil
}
