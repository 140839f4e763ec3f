package demo_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
)

// TestDemo compares what the demo shows.
func TestDemo(t *testing.T) {
	status, stdout, stderr := clitest.Run(t, "", "demo")
	if status != 0 || stderr != "" {
		t.Errorf("exit status %d, %s", status, stderr)
	}
	clitest.Compare(t, filepath.Join("testdata", "golden", "demo.text"), stdout)
}

// TestWriteExamples writes the examples and judges what was written.
func TestWriteExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := clitest.Run(t, "", "demo", "--write", "out")
	if status != 0 || !strings.Contains(stdout, "sallyport check -p out/demo/policies out/demo/manifests") {
		t.Fatalf("exit status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ := clitest.Run(t, "", "check", "-p", "out/demo/policies", "out/demo/manifests"); status != 1 {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	if status, _, stderr := clitest.Run(t, "", "demo", "--write", "out"); status != 2 || !strings.Contains(stderr, "out is there already") {
		t.Errorf("exit status %d, %s", status, stderr)
	}
}
