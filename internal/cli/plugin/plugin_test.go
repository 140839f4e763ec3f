package plugin

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestIs(t *testing.T) {
	for arg0, want := range map[string]bool{
		"kubectl-sallyport": true, "/home/a/.krew/bin/kubectl-sallyport": true, "kubectl-sallyport.exe": true,
		"sallyport": false, "/usr/bin/sallyport": false, "/opt/kubectl-sallyport/sallyport": false, "kubectl-sallyport-old": false, "": false,
	} {
		if Is(arg0) != want {
			t.Errorf("Is(%q) is %t", arg0, !want)
		}
	}
}

func TestRename(t *testing.T) {
	root := &cobra.Command{
		Use: "sallyport", Long: "Sallyport guards; see sallyport --help, or https://example.com/sallyport check.",
		Example: "  sallyport check -p policies/\n  a | sallyport check -\n  sallyport serve --from /etc/sallyport",
	}
	check := &cobra.Command{Use: "check PATH", Run: func(*cobra.Command, []string) {}}
	check.Flags().Bool("x", false, "as sallyport check does; kubectl sallyport check too")
	root.AddCommand(check, &cobra.Command{Use: "serve", Run: func(*cobra.Command, []string) {}})
	Rename(root)
	var out bytes.Buffer
	root.SetOut(&out)
	for _, args := range [][]string{{"--help"}, {"check", "--help"}} {
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"see kubectl sallyport --help, or https://example.com/sallyport check.", "\n  kubectl sallyport check -p policies/\n", "a | kubectl sallyport check -",
		"kubectl sallyport serve --from /etc/sallyport", "\n  kubectl sallyport check PATH [flags]\n", "as kubectl sallyport check does; kubectl sallyport check too",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "kubectl kubectl") {
		t.Errorf("a name is there twice:\n%s", out.String())
	}
}
