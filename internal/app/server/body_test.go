package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-io/sallyport/internal/door"
)

func TestReadBody(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body string
		// length is what the caller promises; -2: what is true.
		length int64
		status int
	}{
		{"JSON", "application/json", "{}", -2, 0},
		{"with a charset", "application/json; charset=utf-8", "{}", -2, 0},
		{"with a charset in another case", `application/json;charset="UTF-8"`, "{}", -2, 0},
		{"in ASCII", "application/json; charset=us-ascii", "{}", -2, 0},
		{"with the other name of UTF-8", "application/json; charset=utf8", "{}", -2, 0},
		{"with a charset that cannot be read", `application/json; charset="utf-16`, "{}", -2, http.StatusUnsupportedMediaType},
		{"in UTF-16", "application/json; charset=utf-16", "{}", -2, http.StatusUnsupportedMediaType},
		{"in UTF-16, its bytes", "application/json; charset=UTF-16LE", "{\x00}\x00", -2, http.StatusUnsupportedMediaType},
		{"in Latin-1", "application/json; charset=iso-8859-1", "{}", -2, http.StatusUnsupportedMediaType},
		{"two charsets", "application/json; charset=utf-8; charset=utf-16", "{}", -2, http.StatusUnsupportedMediaType},
		{"in another case", "Application/JSON", "{}", -2, 0},
		{"length not told", "application/json", "{}", -1, 0},
		{"large", "application/json", strings.Repeat(" ", maxBody), -2, 0},
		{"too large", "application/json", strings.Repeat(" ", maxBody+1), -2, http.StatusRequestEntityTooLarge},
		{"too large, length not told", "application/json", strings.Repeat(" ", maxBody+1), -1, http.StatusRequestEntityTooLarge},
		{"too large by promise", "application/json", "{}", maxBody + 1, http.StatusRequestEntityTooLarge},
		{"beyond reading, by promise", "application/json", "{}", drainLimit + 1, http.StatusRequestEntityTooLarge},
		{"shorter than promised", "application/json", "{}", 10, http.StatusBadRequest},
		{"empty", "application/json", "", -2, http.StatusBadRequest},
		{"empty, length not told", "application/json", "", -1, http.StatusBadRequest},
		{"no content type", "", "{}", -2, http.StatusUnsupportedMediaType},
		{"YAML", "application/yaml", "{}", -2, http.StatusUnsupportedMediaType},
		{"a longer type", "application/json-patch+json", "{}", -2, http.StatusUnsupportedMediaType},
		{"two types", "application/json, text/plain", "{}", -2, http.StatusUnsupportedMediaType},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/validate", io.NopCloser(strings.NewReader(tt.body)))
			r.ContentLength = tt.length
			if tt.length == -2 {
				r.ContentLength = int64(len(tt.body))
			}
			r.Header.Set("Content-Type", tt.contentType)
			body, err := readBody(r)
			var problem *door.Error
			switch {
			case tt.status == 0 && (err != nil || string(body) != tt.body):
				t.Errorf("%d bytes were read, error %v", len(body), err)
			case tt.status != 0 && (!errors.As(err, &problem) || problem.Status != tt.status):
				t.Errorf("got %v, want a status of %d", err, tt.status)
			case tt.length > drainLimit && len(body) > 0:
				t.Errorf("%d bytes were read of what should not be read at all", len(body))
			case tt.status == http.StatusRequestEntityTooLarge && tt.length <= drainLimit && len(body) != min(beginning, len(tt.body)):
				t.Errorf("%d bytes of the beginning were kept", len(body))
			}
		})
	}
}

// failing is a body that gives some of what was promised, and then an error.
type failing struct {
	io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// TestUnreadBody says that a body which does not come is told of in words of our
// own.
func TestUnreadBody(t *testing.T) {
	network := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8443}, Err: err}
	}
	for _, tt := range []struct {
		name   string
		err    error
		length int64
		status int
		says   string
	}{
		{"slow", network(os.ErrDeadlineExceeded), 10, http.StatusRequestTimeout, "the body did not come in within 15s"},
		{"slow, length not told", network(os.ErrDeadlineExceeded), -1, http.StatusRequestTimeout, "the body did not come in within 15s"},
		{"cut", network(os.NewSyscallError("read", syscall.ECONNRESET)), 10, http.StatusBadRequest, "the connection was cut"},
		{"shorter than promised", io.ErrUnexpectedEOF, 10, http.StatusBadRequest, "the body ended before"},
		{"chunks that are none", errors.New("invalid byte in chunk length"), -1, http.StatusBadRequest, "the body could not be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/validate", io.NopCloser(failing{strings.NewReader("{"), tt.err}))
			r.ContentLength = tt.length
			r.Header.Set("Content-Type", "application/json")
			_, err := readBody(r)
			var problem *door.Error
			if !errors.As(err, &problem) || problem.Status != tt.status || !strings.Contains(problem.Message, tt.says) || !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want a status of %d and %q", err, tt.status, tt.says)
			}
			for _, leak := range []string{"i/o", "tcp", "10.0.0.7", "chunk", "EOF", "reset"} {
				if strings.Contains(problem.Message, leak) {
					t.Errorf("%q is said to the caller", problem.Message)
				}
			}
		})
	}
}
