package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

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
	contentType := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != "application/json" {
		return nil, &door.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the content type is %q, application/json belongs here", contentType)}
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
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, door.Malformed("the body could not be read: %w", err)
	case len(body) == 0:
		return nil, door.Malformed("the body is empty, a review belongs here")
	}
	return body, nil
}

func tooLarge() *door.Error {
	return &door.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is over %d bytes, more than the review of any object that an API server takes", maxBody)}
}
