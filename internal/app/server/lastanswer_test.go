package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowly is a caller that begins a request, and takes its time for the rest.
type slowly struct {
	*testing.T
	net.Conn
	reads *bufio.Reader
}

// begins connects to a server that lets in who has a token, and sends the head of a
// request with a body of some length.
func begins(t *testing.T, s *Server, path string, length int, headers ...string) *slowly {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// Before the library gives up by itself.
	if err := conn.SetDeadline(time.Now().Add(readTimeout - 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	c := &slowly{t, conn, bufio.NewReader(conn)}
	c.sends(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", path, length, strings.Join(headers, "")))
	return c
}

func (c *slowly) sends(text string) {
	c.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.Fatal(err)
	}
}

// answered reads an answer to its end, which is not that of its connection.
func (c *slowly) answered(status int) {
	c.Helper()
	response, err := http.ReadResponse(c.reads, nil)
	if err != nil {
		c.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !response.Close || response.ContentLength != int64(len(body)) || len(body) == 0 {
		c.Errorf("%v, %d, closes %v, length %d: %s", err, response.StatusCode, response.Close, response.ContentLength, body)
	}
}

// ended has the connection end with nothing more.
func (c *slowly) ended() {
	c.Helper()
	if rest, err := io.ReadAll(c.reads); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(rest) > 0 {
		c.Errorf("after the answer: %v, %q", err, rest)
	}
}

// lasting is a server all of whose answers are the last of their connections, that waits
// for what is left of a body for some time.
func lasting(t *testing.T, rest time.Duration) *Server {
	t.Helper()
	o := options(t, &world{}, noExec)
	o.InsecureHTTP, o.TokenFile = true, file(t, "tokens", "abc123abc123abc123abc123abc123abc123\n")
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.connections.rest = rest
	serving(t, s)
	s.Release()
	return s
}

const bearer = "Authorization: Bearer abc123abc123abc123abc123abc123abc123\r\n"

// TestLastAnswersDoNotWait for a body that nobody wants: whoever sends it slowly has his
// answer, whole, before the rest of it.
func TestLastAnswersDoNotWait(t *testing.T) {
	s := lasting(t, time.Hour)
	for path, status := range map[string]int{"/authorize": http.StatusUnauthorized, "/nowhere": http.StatusNotFound} {
		c := begins(t, s, path, 100)
		c.sends("{")
		c.answered(status)
		c.sends(strings.Repeat(" ", 99))
		c.ended()
	}
}

// TestSlowCallersKeepNobody from an end: the rest of a body is waited for a moment, also
// where the answer would have ended the connection anyway.
func TestSlowCallersKeepNobody(t *testing.T) {
	s := lasting(t, time.Millisecond)
	c := begins(t, s, "/authorize", 100)
	c.sends("{")
	c.answered(http.StatusUnauthorized)
	c.ended()
	if !s.Settle(t.Context()) {
		t.Error("it is waited for")
	}
}

// TestBodiesThatAreOnlySentIfAskedFor are asked for where they are read, before the answer
// and never after it, and not waited for where they are not.
func TestBodiesThatAreOnlySentIfAskedFor(t *testing.T) {
	const expects = "Expect: 100-continue\r\n"
	s := lasting(t, time.Millisecond)
	c := begins(t, s, "/authorize", len(sar), expects)
	c.answered(http.StatusUnauthorized)
	c.ended()

	c = begins(t, s, "/authorize", len(sar), expects, bearer)
	if line, err := c.reads.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%v, %q", err, line)
	}
	if line, err := c.reads.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("%v, %q", err, line)
	}
	c.sends(sar)
	c.answered(http.StatusOK)
	c.ended()
}
