package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// outsideLoopback returns an address of this machine that is not loopback, or
// nothing.
func outsideLoopback() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	return ""
}

// oneSize is a terminal that never changes.
type oneSize struct{ told bool }

func (s *oneSize) Next() *remotecommand.TerminalSize {
	if s.told {
		return nil
	}
	s.told = true
	return &remotecommand.TerminalSize{Width: 111, Height: 33}
}

// execInTerminal runs a command with a terminal in a pod, as Admin, and returns
// what it wrote.
func execInTerminal(ctx context.Context, webSocket bool, namespace, pod string, command ...string) (string, error) {
	target := shared.Client.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec).URL()
	executor, err := executorFor(webSocket, target)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	never := make(chan struct{})
	defer close(never)
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{
		Stdin: blocked(never), Stdout: &out, Tty: true, TerminalSizeQueue: &oneSize{},
	})
	return out.String(), err
}

func executorFor(webSocket bool, target *url.URL) (remotecommand.Executor, error) {
	if webSocket {
		return remotecommand.NewWebSocketExecutor(shared.Config, "GET", target.String())
	}
	return remotecommand.NewSPDYExecutor(shared.Config, "POST", target)
}

// blocked is input that does not come until the channel is closed.
type blocked chan struct{}

func (b blocked) Read([]byte) (int, error) {
	<-b
	return 0, io.EOF
}

func exitStatus(err error) int {
	var code exec.CodeExitError
	if errors.As(err, &code) {
		return code.Code
	}
	return 0
}
