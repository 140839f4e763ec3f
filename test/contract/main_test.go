// Package contract holds the product to what it promises its users: the binary
// is built once and driven as they drive it, by its command line and over HTTP.
// Nothing here knows how the product is made.
package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// binary is the path of the sallyport under test, set by TestMain.
var binary string

// commandTimeout is far above what any command takes: reaching it means that
// the product hangs.
const commandTimeout = 30 * time.Second

// maxProcesses bounds the commands that run at once, so that a time-out says
// something about the product and not about a crowded machine.
const maxProcesses = 4

var processes = make(chan struct{}, maxProcesses)

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sallyport-contract-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	product, err := lab.BuildProduct(context.Background(), dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = product.Quick
	return m.Run()
}

// outcome is what a command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// all returns everything that the user sees.
func (o outcome) all() string { return o.stdout + o.stderr }

// run starts sallyport with args, waits for its end and returns the outcome.
// No cluster is in reach: the environment has no kubeconfig.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return runWithInput(t, "", args...)
}

// runWithInput is run with a standard input.
func runWithInput(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	processes <- struct{}{}
	defer func() { <-processes }()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = environment(t)
	cmd.Stdin = bytes.NewBufferString(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("sallyport %q did not end within %v\nstdout: %s\nstderr: %s", args, commandTimeout, &stdout, &stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("sallyport %q could not be run: %v", args, err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

func environment(t *testing.T) []string {
	t.Helper()
	return []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
}

// eventually waits until the condition holds, and fails the test when it does
// not within ten seconds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("waited too long: %s", what)
		case <-tick.C:
		}
	}
}
