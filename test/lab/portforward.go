package lab

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"
)

// PortForward runs kubectl port-forward as a user until stop is called, and
// returns the address on this machine that leads into the pod. What args name
// has to leave the local port open, as in "pod/web", ":80". Where kubectl ends
// before it forwards anything, result is what it left, and the error says so.
func (l *Lab) PortForward(ctx context.Context, k Kubectl) (address string, stop func(), result Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(l.ctx, cancel)
	k.Args = append([]string{"port-forward", "--address=127.0.0.1"}, k.Args...)
	cmd, err := l.command(ctx, k)
	if err != nil {
		cancel()
		return "", nil, Result{Code: -1}, err
	}
	out := &announcement{found: make(chan string, 1)}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, Result{Code: -1}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer unhook()
		_ = cmd.Wait()
	}()
	stop = func() {
		cancel()
		<-ended
	}
	select {
	case address := <-out.found:
		return address, stop, Result{}, nil
	case <-ended:
		cancel()
		result := Result{Stdout: out.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
		return "", nil, result, fmt.Errorf("kubectl port-forward forwards nothing: %s", result)
	}
}

var forwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+) ->`)

// announcement is the output of kubectl, searched for the address that it
// listens on.
type announcement struct {
	mu      sync.Mutex
	content bytes.Buffer
	sent    bool
	found   chan string
}

func (a *announcement) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.content.Write(p)
	if match := forwarding.FindSubmatch(a.content.Bytes()); match != nil && !a.sent {
		a.sent = true
		a.found <- string(match[1])
	}
	return len(p), nil
}

func (a *announcement) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.content.String()
}
