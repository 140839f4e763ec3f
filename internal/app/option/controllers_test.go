package option_test

import (
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"strings"
	"testing"
)

func TestControllerFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--controller-account Rollout.argoproj.io", "KIND.GROUP=USER is expected"},
		{"--controller-account rollout.argoproj.io=x", "KIND.GROUP=USER is expected"},
		{"--controller-account =x", "KIND.GROUP=USER is expected"},
		{"--controller-account Rollout.argoproj.io=", "KIND.GROUP=USER is expected"},
		{"--shared-controller-account=", "names nobody"},
		{"--template-key-file /dev/null", "at least 16 are needed"},
	} {
		t.Run(c.args, func(t *testing.T) {
			status, _, errs := clitest.Run(t, "", append([]string{"serve", "--from", "../../../examples/demo", "--insecure-http", "--addr", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
			if status != 2 || !strings.Contains(errs, c.says) {
				t.Errorf("%d: %s", status, errs)
			}
		})
	}
}
