package server

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostLeft is how much of a body is read that nobody wanted.
const mostLeft = 256 << 10

// restTimeout is how long is waited for it. Whoever sent it at once is read by then, and
// whoever sends slowly has his answer already, and keeps nobody from an end.
const restTimeout = time.Second

// answerLast answers a request, and ends its connection.
//
// What is left of a body when a connection is closed has the answer be lost on its way, so
// it is read. The answer is sent before, and whole: one without its length would have an
// end of its own, which the library sends last.
func (c *connections) answerLast(next http.Handler, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	answer, body, asked := &whole{ResponseWriter: w}, &noted{ReadCloser: r.Body}, *r
	asked.Body = body
	next.ServeHTTP(answer, &asked)
	answer.send()
	c.hurry(w)
	// Who waits to be asked for his body, and was not, has sent none, and sends none now.
	if body.read || !strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		_, _ = io.CopyN(io.Discard, r.Body, mostLeft)
	}
}

// hurry bounds what is waited for from the caller of a request that was answered. The
// library waits for the body as well, for as long as it would have for all of a request.
// The deadline is one of the operating system, and by no other clock.
func (c *connections) hurry(w http.ResponseWriter) {
	// What has no deadlines is not a connection, and waits for nobody.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(c.rest))
}

// whole is an answer that is sent when all of it is there, so that its length is known.
type whole struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// Unwrap is what the deadlines are set of.
func (a *whole) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *whole) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *whole) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// send sends it. Who does not take it is not waited for: its connection ends.
func (a *whole) send() {
	a.WriteHeader(http.StatusOK)
	a.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.ResponseWriter.Write(a.body.Bytes())
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// noted is a body that notes whether somebody began to read it.
type noted struct {
	io.ReadCloser
	read bool
}

func (b *noted) Read(p []byte) (int, error) {
	b.read = true
	return b.ReadCloser.Read(p)
}
