//go:build !linux

package kubelet

import (
	"io"
	"syscall"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// inTerminal runs a command without a terminal: opening one is known only for
// Linux.
func (c *container) inTerminal(command []string, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) (int, error) {
	if resize != nil {
		go ignore(resize)
	}
	to := carriageReturns{orDiscard(out)}
	return c.process(command, in, to, to)
}
