package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

// maxRequest bounds what is read of a request or settings.
const maxRequest = 8 << 20

// moduleRequest is a request as a module gets it.
type moduleRequest struct {
	request json.RawMessage
	uid     string
	// object is what a mutation is held against.
	object json.RawMessage
}

// readRequest reads the request. Of a raw one, all of it is what a module may change.
func (f *policyRunFlags) readRequest(s command.Streams) (*moduleRequest, error) {
	in := s.In
	if f.request != "-" {
		file, err := os.Open(f.request)
		if err != nil {
			return nil, fmt.Errorf("the request cannot be read: %w", err)
		}
		defer file.Close()
		in = file
	}
	if in == nil {
		return nil, usage.Errorf("there is no standard input")
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	case len(raw) > maxRequest:
		return nil, fmt.Errorf("the request has more than %d bytes", maxRequest)
	case !json.Valid(raw):
		return nil, fmt.Errorf("the request in %s is not JSON", f.request)
	}
	raw = bytes.TrimSpace(raw)
	var review struct {
		Kind    json.RawMessage `json:"kind"`
		UID     json.RawMessage `json:"uid"`
		Request json.RawMessage `json:"request"`
	}
	isObject := json.Unmarshal(raw, &review) == nil
	if f.raw {
		asked := &moduleRequest{request: raw, object: raw}
		// A raw request need have no UID, and one that is not text is none.
		_ = json.Unmarshal(review.UID, &asked.uid)
		return asked, nil
	}
	if isObject && (string(review.Kind) == `"AdmissionReview"` || bytes.HasPrefix(review.Request, []byte("{"))) {
		raw = review.Request
	}
	var asked struct {
		UID    string          `json:"uid"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(raw, &asked); err != nil || !bytes.HasPrefix(raw, []byte("{")) {
		return nil, fmt.Errorf("%s holds no AdmissionRequest; --raw takes any JSON", f.request)
	}
	return &moduleRequest{request: raw, uid: asked.UID, object: asked.Object}, nil
}
