package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Programs whose processes are found again.
const (
	apiServer = "kube-apiserver"
	etcd      = "etcd"
)

// signalled writes a script that starts a program of the lab and leaves its process id
// where processOf finds it, and returns its path. What starts kube-apiserver and etcd for
// the lab gives that away to nobody.
func (l *Lab) signalled(program string) (string, error) {
	name := filepath.Join(l.Dir, program)
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s\nexec %s \"$@\"\n", shellQuoted(l.pidFile(program)), shellQuoted(filepath.Join(l.binaries, program)))
	return name, os.WriteFile(name, []byte(script), 0o700)
}

func (l *Lab) pidFile(program string) string { return filepath.Join(l.Dir, program+".pid") }

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// processOf returns the process id of a program, which runs unless it was killed.
func (l *Lab) processOf(program string) (int, error) {
	content, err := os.ReadFile(l.pidFile(program))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s does not run", program)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}

// KillAPIServer ends kube-apiserver without asking, and returns when it is gone.
// etcd and everything else go on. StartAPIServer brings it back.
func (l *Lab) KillAPIServer(ctx context.Context) error {
	pid, err := l.processOf(apiServer)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill kube-apiserver: %w", err)
	}
	if err := os.Remove(l.pidFile(apiServer)); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, stopTimeout, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver was killed and is still there: %w", err)
	}
	return nil
}

// StartAPIServer starts kube-apiserver again after KillAPIServer, at the same
// address, with the same certificates and the same etcd, and returns when it
// says that it is healthy.
func (l *Lab) StartAPIServer() error {
	file, err := os.OpenFile(l.LogFile("kube-apiserver"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	server := l.env.ControlPlane.GetAPIServer()
	server.Out, server.Err = file, file
	if err := server.Start(); err != nil {
		return fmt.Errorf("start kube-apiserver again: %w\nthe end of its log:\n%s", err, tail(l.LogFile("kube-apiserver")))
	}
	return nil
}

// PauseAPIServer makes kube-apiserver stand still: connections to it stay, new
// ones are accepted by the system, and nothing is answered. ResumeAPIServer lets it
// go on, and so does Stop.
func (l *Lab) PauseAPIServer() error { return l.signal(apiServer, syscall.SIGSTOP) }

// ResumeAPIServer lets kube-apiserver go on after PauseAPIServer.
func (l *Lab) ResumeAPIServer() error { return l.signal(apiServer, syscall.SIGCONT) }

// PauseEtcd makes etcd stand still, so that kube-apiserver can neither read nor write.
// ResumeEtcd lets it go on, and so does Stop.
func (l *Lab) PauseEtcd() error { return l.signal(etcd, syscall.SIGSTOP) }

// ResumeEtcd lets etcd go on after PauseEtcd.
func (l *Lab) ResumeEtcd() error { return l.signal(etcd, syscall.SIGCONT) }

func (l *Lab) signal(program string, signal syscall.Signal) error {
	pid, err := l.processOf(program)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("%s to %s: %w", signal, program, err)
	}
	return nil
}
