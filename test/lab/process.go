package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end before it is killed.
const stopTimeout = 10 * time.Second

// process is a program that runs beside the test, with its output in a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	err error
}

// startProcess starts a program with its output appended to a file. It gets a
// process group of its own, so that an interrupt from a terminal leaves it to be
// stopped in order, and it does not outlive this process where the system can
// promise that.
func startProcess(log, path string, args, env []string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{name: filepath.Base(path), log: log, done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = childAttributes()

	started := make(chan error)
	go func() {
		// What the system does when a parent ends, it does when the thread ends that
		// started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = p.cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return p, nil
}

// stop asks the program to end, waits until it has, and kills it when that takes
// too long, which is an error.
func (p *process) stop() error {
	if p.ended() {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		p.kill()
		return fmt.Errorf("%s had not ended %s after it was asked to, and was killed:\n%s", p.name, stopTimeout, tail(p.log))
	}
}

// kill ends the program without asking.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// waitUntil asks again and again until the condition holds. It gives up when ctx
// ends or the program does, and its error then shows the end of the program's
// log.
func (p *process) waitUntil(ctx context.Context, condition func(context.Context) error) error {
	var last error
	for {
		if last = condition(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			p.mu.Lock()
			defer p.mu.Unlock()
			return fmt.Errorf("%s has ended (%v) before it was ready:\n%s", p.name, p.err, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w:\n%s", p.name, errors.Join(ctx.Err(), last), tail(p.log))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tail returns the last part of a log.
func tail(name string) string {
	const most = 4 << 10
	file, err := os.Open(name)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	content, _ := io.ReadAll(io.LimitReader(file, most))
	return string(bytes.TrimSpace(content))
}
