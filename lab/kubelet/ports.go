package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// PortForward connects to what listens in a pod that consists of programs. In others it
// answers in place of that, on every port:
// HTTP requests get a line that says which pod and port answered, and whatever
// else comes is sent back as it came.
func (c *container) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	if c.state != nil {
		return c.forward(ctx, port, stream)
	}
	in := bufio.NewReader(stream)
	if !startsHTTP(in) {
		_, err := in.WriteTo(stream)
		return err
	}
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return nil
		}
		body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		if err != nil {
			return nil
		}
		text := fmt.Sprintf("pod %s/%s answers on port %d: %s %s\n%s", c.pod.Namespace, c.pod.Name, port, request.Method, request.URL.Path, body)
		response := http.Response{
			StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: request, Close: request.Close,
			Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
			ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
		}
		if err := response.Write(stream); err != nil || request.Close {
			return err
		}
	}
}

// forward joins a stream to a port of the pod until one of them ends.
func (c *container) forward(ctx context.Context, port int32, stream io.ReadWriteCloser) error {
	conn, err := c.state.Dial(ctx, strconv.Itoa(int(port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream)
		_ = conn.Close()
	}()
	_, _ = io.Copy(stream, conn)
	return nil
}

// startsHTTP tells by the first bytes whether HTTP is spoken, and waits for no
// more of them than it takes to know.
func startsHTTP(in *bufio.Reader) bool {
	for n := 1; ; n++ {
		start, err := in.Peek(n)
		if err != nil {
			return false
		}
		possible := false
		for _, method := range []string{"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS "} {
			if bytes.HasPrefix(start, []byte(method)) {
				return true
			}
			possible = possible || strings.HasPrefix(method, string(start))
		}
		if !possible {
			return false
		}
	}
}
