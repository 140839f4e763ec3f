package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Kubectl is one run of the real kubectl.
type Kubectl struct {
	// User is who runs it; see Kubeconfig.
	User string
	Args []string
	// Stdin is empty when it is nil.
	Stdin io.Reader
	// Env is set beyond HOME, KUBECONFIG and PATH: the rest of the environment does
	// not reach kubectl.
	Env []string
	// Dir is the working directory, the user's home when it is empty.
	Dir string
}

// SPDY is the environment in which kubectl streams by SPDY and not by WebSocket.
var SPDY = []string{"KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false", "KUBECTL_PORT_FORWARD_WEBSOCKETS=false"}

// Result is what became of a run of kubectl.
type Result struct {
	Stdout, Stderr string
	// Code is the exit status, -1 when kubectl did not run or was ended.
	Code int
}

// OK tells whether the exit status is 0.
func (r Result) OK() bool { return r.Code == 0 }

// String shows the whole result, for the message of a test that failed.
func (r Result) String() string {
	return fmt.Sprintf("exit status %d\nstdout: %s\nstderr: %s", r.Code, strings.TrimSpace(r.Stdout), strings.TrimSpace(r.Stderr))
}

// Kubectl runs kubectl as a user and returns when it has ended.
func (l *Lab) Kubectl(ctx context.Context, user string, args ...string) Result {
	return l.Run(ctx, Kubectl{User: user, Args: args})
}

// Run runs kubectl and returns when it has ended, or ctx or the lab has.
func (l *Lab) Run(ctx context.Context, k Kubectl) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	var stdout, stderr bytes.Buffer
	cmd, err := l.command(ctx, k)
	if err != nil {
		return Result{Stderr: err.Error(), Code: -1}
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	result := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	switch {
	case cmd.ProcessState != nil:
		result.Code = cmd.ProcessState.ExitCode()
	case err != nil:
		result.Code = -1
		result.Stderr += err.Error()
	}
	return result
}

// command prepares a run of kubectl that is ended with ctx.
func (l *Lab) command(ctx context.Context, k Kubectl) (*exec.Cmd, error) {
	kubeconfig, err := l.Kubeconfig(ctx, k.User)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(l.Dir, "homes", fileName(k.User))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, l.KubectlPath(), k.Args...)
	cmd.Dir = k.Dir
	if cmd.Dir == "" {
		cmd.Dir = home
	}
	cmd.Env = append([]string{
		"HOME=" + home, "KUBECONFIG=" + kubeconfig, "PATH=" + os.Getenv("PATH"),
		lifelineVariable + "=" + os.Getenv(lifelineVariable),
	}, k.Env...)
	cmd.Stdin = k.Stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	return cmd, nil
}

// KubectlPath returns the kubectl that belongs to the lab.
func (l *Lab) KubectlPath() string { return filepath.Join(l.binaries, "kubectl") }

// Apply creates or changes the objects in a YAML text, as Admin.
func (l *Lab) Apply(ctx context.Context, manifest string) error {
	result := l.Run(ctx, Kubectl{User: Admin, Args: []string{"apply", "-f", "-"}, Stdin: strings.NewReader(manifest)})
	if !result.OK() {
		return fmt.Errorf("kubectl apply: %s", result)
	}
	return nil
}
