package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/sallyport-io/sallyport/internal/door"
)

// maxBody bounds a review. An API server takes objects of up to 3 MiB in a
// request, and the review of an update holds the object and the old one; their
// JSON can be longer than what was sent, for protobuf and for escapes. One MiB is
// left for what stands around them.
const maxBody = (3 + 3 + 1) << 20

// commonBody is what a body may promise to be and have its memory at once.
const commonBody = 256 << 10

// maxLarge is how many bodies above the common size are held at once. Together
// with what maxConcurrent bodies of a common size take, it bounds the memory of
// bodies to about 700 MiB, while an API server under load sends a handful of
// large ones at a time.
const maxLarge = 32

// readBody reads the body of a review. Every error is a *door.Error.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkContentType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	limited := http.MaxBytesReader(w, r.Body, maxBody)
	var body []byte
	var err error
	// What a caller promises is not taken for granted beyond a common size.
	if r.ContentLength > 0 && r.ContentLength <= commonBody {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	switch {
	case err != nil:
		return nil, unread(err)
	case len(body) == 0:
		return nil, door.Malformed("the body is empty, a review belongs here")
	}
	return body, nil
}

// checkContentType refuses what is no JSON, and JSON that says it is in another
// encoding than JSON has: read as UTF-8 it might say something else.
func checkContentType(contentType string) error {
	media, parameters, err := mime.ParseMediaType(contentType)
	switch charset := strings.ToLower(parameters["charset"]); {
	case err != nil || media != "application/json":
		return &door.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the content type is %q, application/json belongs here", contentType)}
	case charset != "" && charset != "utf-8" && charset != "utf8" && charset != "us-ascii":
		return &door.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the charset of the body is %q, JSON is taken in UTF-8 alone", charset)}
	}
	return nil
}

// unread words why a body did not come, without the words of the network: they
// hold addresses, and mean nothing to whoever reads the answer.
func unread(err error) *door.Error {
	problem := &door.Error{Status: http.StatusBadRequest, Err: err}
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		problem.Status = http.StatusRequestTimeout
		problem.Message = fmt.Sprintf("the body did not come in within %s", readTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		problem.Message = "the body ended before all of it had come in that was promised"
	default:
		problem.Message = "the body could not be read: the connection was cut, or what came is not HTTP"
	}
	return problem
}

func tooLarge() *door.Error {
	return &door.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is over %d bytes, more than the review of any object that an API server takes", maxBody)}
}
