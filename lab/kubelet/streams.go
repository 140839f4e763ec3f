package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

var (
	_ remotecommand.Executor    = (*container)(nil)
	_ remotecommand.Attacher    = (*container)(nil)
	_ portforward.PortForwarder = (*container)(nil)
)

// ExecInContainer runs a command in the container and returns when it has ended;
// an exit status other than 0 is a utilexec.ExitError.
func (c *container) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(command) == 0 {
		return errors.New("no command was given")
	}
	if !c.stdin {
		in = nil
	}
	var code int
	var err error
	switch {
	case !c.real:
		if resize != nil {
			go ignore(resize)
		}
		code = c.builtIn(command, in, out, errOut, tty)
	case tty:
		code, err = c.inTerminal(command, in, out, resize)
	default:
		code, err = c.process(command, in, out, errOut)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

// process runs a command of this machine and returns its exit status.
func (c *container) process(command []string, in io.Reader, out, errOut io.Writer) (int, error) {
	cmd := c.command(command)
	cmd.Stdout, cmd.Stderr = orDiscard(out), orDiscard(errOut)
	var stdin io.WriteCloser
	if in != nil {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return 0, err
		}
	}
	if err := cmd.Start(); err != nil {
		return notStarted(err, cmd.Stderr)
	}
	if stdin != nil {
		// The command may end before its input does; nothing waits for this copy.
		go func() {
			_, _ = io.Copy(stdin, in)
			_ = stdin.Close()
		}()
	}
	return exitCode(cmd.Wait())
}

// command prepares a process in the container's directory, that ends when the
// pod does.
func (c *container) command(command []string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	// A child that was left behind must not keep the streams open.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	return cmd
}

// notStarted gives a command that could not be started the status that a shell
// gives it.
func notStarted(err error, errOut io.Writer) (int, error) {
	fmt.Fprintf(errOut, "%v\n", err)
	if errors.Is(err, exec.ErrNotFound) {
		return 127, nil
	}
	return 126, nil
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0, nil
	case errors.As(err, &exit):
		if code := exit.ExitCode(); code >= 0 {
			return code, nil
		}
		return 137, nil
	}
	return 0, err
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// AttachContainer prints what the container is, and then sends back what it is
// sent, until that ends.
func (c *container) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	if resize != nil {
		go ignore(resize)
	}
	var to io.Writer = io.Discard
	switch {
	case out != nil:
		to = out
	case errOut != nil:
		to = errOut
	}
	if tty {
		to = carriageReturns{to}
	}
	fmt.Fprintf(to, "attached to container %s of pod %s/%s\n", c.name, c.pod.Namespace, c.pod.Name)
	if !c.stdin {
		return nil
	}
	_, err := io.Copy(to, in)
	return err
}

func ignore(resize <-chan remotecommand.TerminalSize) {
	for range resize {
	}
}

// carriageReturns writes lines as a terminal in raw mode needs them.
type carriageReturns struct{ to io.Writer }

func (w carriageReturns) Write(p []byte) (int, error) {
	if _, err := w.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
