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

// maxBody bounds a review: the largest that an API server makes of an object which it
// accepts has to be judged, or its size would by itself hand the decision to the
// failurePolicy of the webhook.
//
//   - An API server reads 3 MiB of a request (MaxRequestBodyBytes, the same for what a
//     JSON patch may copy), and sends at most 2 MiB to etcd in one call (the default of
//     etcd's client, which it does not change), which by default takes 1.5 MiB. So an
//     object that is stored has at most 2 MiB as it is stored, and one that is not (a
//     TokenRequest, a Binding) at most 3 MiB as it is sent.
//   - In a review it is JSON as encoding/json writes it: <, >, &, control characters
//     and bytes that are not UTF-8 take six bytes for the one that they take in a
//     request or in etcd. Nothing grows more: what is stored as protobuf with short
//     tags and written with long names (containers with every boolean and probe set)
//     grows to about the same. That is 18 MiB for 3 MiB.
//   - An update has two of them, and a deletion one and its options.
//   - Whoever asks stands beside them, with groups and extra values: from headers,
//     which an API server reads 1 MiB of, and again six bytes for one.
//   - 2 MiB are left for what stands around all that.
//
// An API server with a store that takes more than 2 MiB still reads no more than
// 3 MiB, which is what the bound is made from.
const maxBody = 2*6*(3<<20) + 6*(1<<20) + 2<<20

// commonBody is what a body may promise to be and be common: it needs no room among
// the large ones.
const commonBody = 256 << 10

// beginning is how much is read of a review that is not read whole: what says which
// it is, and who asks, stands ahead of the objects.
const beginning = 16 << 10

// drainLimit is how much of a body is read and dropped before its review is answered
// unread: a caller that is still sending would not hear the answer. One that promises
// more is about no object that could ever be stored, and is not read at all.
const drainLimit = 2 * maxBody

// checkContentType refuses what is not JSON, and JSON that says it is in another
// encoding than JSON has: read as UTF-8 it might say something else.
func checkContentType(contentType string) error {
	media, parameters, err := mime.ParseMediaType(contentType)
	switch charset := strings.ToLower(parameters["charset"]); {
	case err != nil || media != "application/json":
		return &door.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the content type is %q, application/json belongs here", contentType)}
	case charset != "" && charset != "utf-8" && charset != "utf8" && charset != "us-ascii":
		return &door.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the charset of the body is %q, JSON is accepted only in UTF-8", charset)}
	}
	return nil
}

// readBody reads the body of a review. Every error is a *door.Error. Of a body that
// is too large, its beginning is given with the error, and the rest was read and
// dropped.
func readBody(r *http.Request) ([]byte, error) {
	if err := checkContentType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	switch {
	case r.ContentLength > drainLimit:
		return nil, tooLarge()
	case r.ContentLength > maxBody:
		return readBeginning(r), tooLarge()
	}
	var body []byte
	var err error
	if r.ContentLength > 0 {
		// What is promised was given room before: see capacity.
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	}
	switch {
	case err != nil:
		return nil, unread(err)
	case len(body) > maxBody:
		drain(r)
		return body[:beginning], tooLarge()
	case len(body) == 0:
		return nil, door.Malformed("the body is empty, a review belongs here")
	}
	return body, nil
}

// readBeginning reads the beginning of a body, and drops the rest.
func readBeginning(r *http.Request) []byte {
	first := make([]byte, beginning)
	n, _ := io.ReadFull(r.Body, first)
	drain(r)
	return first[:n]
}

// drain drops what is left of a body. What cannot be read is not missed.
func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, drainLimit) }

// unread words why a body did not come, without the words of the network: they
// hold addresses, and mean nothing to whoever reads the answer.
func unread(err error) *door.Error {
	problem := &door.Error{Status: http.StatusBadRequest, Err: err}
	var network net.Error
	switch {
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
