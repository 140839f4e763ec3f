package kubelet

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// inTerminal runs a command with a terminal of its own and returns its exit
// status.
func (c *container) inTerminal(command []string, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) (int, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return 0, fmt.Errorf("no terminal could be opened: %w", err)
	}
	defer master.Close()
	cmd := c.command(command)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	_ = slave.Close()
	if err != nil {
		return notStarted(err, carriageReturns{orDiscard(out)})
	}
	if in != nil {
		go func() { _, _ = io.Copy(master, in) }()
	}
	ended, end := context.WithCancel(context.Background())
	defer end()
	if resize != nil {
		go follow(ended, master, resize)
	}
	// Reading fails once no process has the terminal open any more.
	_, _ = io.Copy(orDiscard(out), master)
	return exitCode(cmd.Wait())
}

// follow gives the terminal each size that comes. It goes on reading when the
// command has ended, since the sender waits for a reader.
func follow(ended context.Context, master *os.File, resize <-chan remotecommand.TerminalSize) {
	for size := range resize {
		if ended.Err() == nil {
			_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width})
		}
	}
}

func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = master.Close()
		}
	}()
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}
