package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

// TestAsPlugin runs commands as kubectl does: by the name kubectl-sallyport.
func TestAsPlugin(t *testing.T) {
	for _, c := range []struct{ program, args, want, not string }{
		{"/krew/bin/kubectl-sallyport", "", "Usage:\n  kubectl sallyport [flags]", "\n  sallyport"},
		{"/krew/bin/kubectl-sallyport", "check --help", "kubectl sallyport check ", "  sallyport check"},
		{"/krew/bin/kubectl-sallyport", "chek", "See 'kubectl sallyport --help'.", ""},
		{"/krew/bin/kubectl-sallyport", "--version", "sallyport ", "kubectl"},
		{"/krew/bin/kubectl-sallyport", "__complete chec", "check\t", ""},
		{"/krew/bin/kubectl-sallyport", "completion bash", "complete -o default -F __start_sallyport sallyport", "kubectl"},
		{"/usr/bin/sallyport", "check --help", "  sallyport check ", "kubectl sallyport"},
	} {
		var out bytes.Buffer
		cli.Main(t.Context(), strings.Fields(c.args), command.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Program: c.program})
		if !strings.Contains(out.String(), c.want) || c.not != "" && strings.Contains(out.String(), c.not) {
			t.Errorf("%s %s: want %q and not %q in:\n%s", c.program, c.args, c.want, c.not, out.String())
		}
	}
}
