package wasm

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Response is what a module says of a request.
type Response struct {
	Accepted bool
	Message  string
	// Code is the HTTP status of a refusal, or 0 where the module gave none.
	Code uint16
	// MutatedObject is the object as the module would have it, or nil.
	MutatedObject    stdjson.RawMessage
	AuditAnnotations map[string]string
	Warnings         []string
}

// SettingsResponse is what a module says of settings.
type SettingsResponse struct {
	Valid   bool
	Message string
}

const (
	mostEntries = 256     // of annotations and of warnings
	longestText = 1 << 16 // of a message, an annotation, a warning
)

// DecodeResponse reads the answer to validate. Fields of other names are left
// aside, as later versions may have more; a field that stands twice, is of
// another type or too large is an error, and so is an answer without a verdict.
func DecodeResponse(answer []byte) (Response, error) {
	var read struct {
		Accepted         *bool             `json:"accepted"`
		Message          *string           `json:"message"`
		Code             *uint16           `json:"code"`
		MutatedObject    jsontext.Value    `json:"mutated_object"`
		AuditAnnotations map[string]string `json:"audit_annotations"`
		Warnings         []string          `json:"warnings"`
	}
	if err := decodeAnswer(answer, &read); err != nil {
		return Response{}, err
	}
	if read.Accepted == nil {
		return Response{}, errors.New("the answer has no field accepted, which must be true or false")
	}
	r := Response{Accepted: *read.Accepted, AuditAnnotations: read.AuditAnnotations, Warnings: read.Warnings}
	if read.Message != nil {
		r.Message = *read.Message
	}
	if read.Code != nil {
		r.Code = *read.Code
	}
	if kind := read.MutatedObject.Kind(); len(read.MutatedObject) > 0 && kind != 'n' {
		r.MutatedObject = stdjson.RawMessage(read.MutatedObject)
	}
	return r.bounded()
}

// bounded cuts what is too long, and fails where there is too much.
func (r Response) bounded() (Response, error) {
	if n := max(len(r.AuditAnnotations), len(r.Warnings)); n > mostEntries {
		return Response{}, fmt.Errorf("the answer has %d annotations or warnings; at most %d are accepted", n, mostEntries)
	}
	for name, text := range r.AuditAnnotations {
		if len(name) > longestText || len(text) > longestText {
			return Response{}, fmt.Errorf("the answer has an audit annotation of more than %d bytes", longestText)
		}
	}
	for i, text := range r.Warnings {
		r.Warnings[i] = clip(text, longestText)
	}
	r.Message = clip(r.Message, longestText)
	return r, nil
}

// DecodeSettingsResponse reads the answer to validate_settings, as DecodeResponse
// does.
func DecodeSettingsResponse(answer []byte) (SettingsResponse, error) {
	var read struct {
		Valid   *bool   `json:"valid"`
		Message *string `json:"message"`
	}
	if err := decodeAnswer(answer, &read); err != nil {
		return SettingsResponse{}, err
	}
	if read.Valid == nil {
		return SettingsResponse{}, errors.New("the answer has no field valid, which must be true or false")
	}
	r := SettingsResponse{Valid: *read.Valid}
	if read.Message != nil {
		r.Message = clip(*read.Message, longestText)
	}
	return r, nil
}

func decodeAnswer(answer []byte, into any) error {
	if len(answer) == 0 {
		return errors.New("the module gave no answer")
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the answer of the module makes no sense: %s", tidy(err.Error(), 500))
	}
	return nil
}

// fault says what keeps a text from being JSON, such as a name that stands twice,
// after a colon; nothing where it is JSON.
func fault(text []byte) string {
	var value jsontext.Value
	if err := json.Unmarshal(text, &value); err != nil {
		return ": " + tidy(err.Error(), 300)
	}
	return ""
}

// Patch is the JSON patch (RFC 6902) that makes object what the module would
// have it, or nil where nothing is changed. It fails with ErrMutates where
// something is and mutating is not set. object is what the request is about, and
// null or nil where the request has none.
func (r Response) Patch(object stdjson.RawMessage, mutating bool) ([]byte, error) {
	if r.MutatedObject == nil {
		return nil, nil
	}
	if len(object) == 0 || string(object) == "null" {
		return nil, errors.New("the policy changes the object, but the request has none, as when something is deleted")
	}
	patch, err := Patch(object, r.MutatedObject)
	if err != nil {
		return nil, err
	}
	if patch != nil && !mutating {
		return nil, ErrMutates
	}
	return patch, nil
}
