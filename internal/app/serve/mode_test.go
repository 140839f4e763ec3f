package serve

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestMode takes over the two modes that there are, and names them where another is given.
func TestMode(t *testing.T) {
	for mode, observes := range map[string]bool{"": false, "enforce": false, "observe": true} {
		p, err := completed(mode)
		if err != nil || p.server.Observe != observes || p.hosting.letIn != observes {
			t.Errorf("%q: %v, %v", mode, p, err)
		}
	}
	for _, mode := range []string{"Observe", "audit", "off"} {
		if _, err := completed(mode); err == nil || !strings.Contains(err.Error(), `"`+mode+`"; enforce or observe is expected`) {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// completed are the flags of a command line with a mode; the one that is the default if it
// is empty.
func completed(mode string) (*Program, error) {
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	if mode != "" {
		if err := cmd.Flags().Set("mode", mode); err != nil {
			return nil, err
		}
	}
	return f.Complete(io.Discard)
}

// TestWebhookFailurePolicy has webhooks let in what cannot be asked about, while nothing
// else observes, and names the values that there are.
func TestWebhookFailurePolicy(t *testing.T) {
	for given, lets := range map[string]bool{"Policy": false, "Ignore": true} {
		f, cmd := &Flags{}, &cobra.Command{}
		f.Add(cmd)
		if err := cmd.Flags().Set("webhook-failure-policy", given); err != nil {
			t.Fatal(err)
		}
		p, err := f.Complete(io.Discard)
		if err != nil || p.hosting.letIn != lets || p.webhooks.letsIn() != lets || p.server.Observe {
			t.Errorf("%s: %+v, %v", given, p, err)
		}
	}
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	if err := cmd.Flags().Set("webhook-failure-policy", "Fail"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Complete(io.Discard); err == nil || !strings.Contains(err.Error(), `"Fail"; Policy or Ignore is expected`) {
		t.Errorf("%v", err)
	}
}
