package wasm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeRego makes a Response of what the entrypoint of a module came to. A rule
// that is undefined is an error: it says neither that the request is good nor that
// it is not.
func decodeRego(mode RegoMode, entrypoint string, answer, request []byte) (Response, error) {
	var results []struct {
		Result jsontext.Value `json:"result"`
	}
	if err := decodeAnswer(answer, &results); err != nil {
		return Response{}, err
	}
	if len(results) != 1 || len(results[0].Result) == 0 {
		return Response{}, fmt.Errorf("the rule %s is undefined for the request, so the policy says nothing of it", tidy(entrypoint, 200))
	}
	if mode == ModeGatekeeper {
		return decodeViolations(entrypoint, results[0].Result)
	}
	return decodeReview(entrypoint, results[0].Result, request)
}

// decodeViolations reads a list of violations. An empty one accepts.
func decodeViolations(entrypoint string, result jsontext.Value) (Response, error) {
	if result.Kind() != '[' {
		return Response{}, fmt.Errorf("the rule %s is not a set of violations, which a policy of the mode %s answers with", tidy(entrypoint, 200), ModeGatekeeper)
	}
	var violations []struct {
		Msg *string `json:"msg"`
	}
	if err := decodeAnswer(result, &violations); err != nil {
		return Response{}, err
	}
	if len(violations) == 0 {
		return Response{Accepted: true}, nil
	}
	var messages []string
	for _, v := range violations {
		switch {
		case v.Msg == nil:
			messages = append(messages, "a violation without a msg")
		default:
			messages = append(messages, *v.Msg)
		}
	}
	// The order in which a module gives a set is its own affair.
	slices.Sort(messages)
	return Response{Message: clip(strings.Join(slices.Compact(messages), ", "), longestText)}, nil
}

// decodeReview reads an AdmissionReview. Its apiVersion and kind may be left out.
func decodeReview(entrypoint string, result jsontext.Value, request []byte) (Response, error) {
	if result.Kind() != '{' {
		return Response{}, fmt.Errorf("the rule %s is not an object, and an AdmissionReview, with a field response, was expected", tidy(entrypoint, 200))
	}
	var review struct {
		Response *struct {
			Allowed *bool `json:"allowed"`
			Status  *struct {
				Message *string `json:"message"`
				Reason  *string `json:"reason"`
				Code    *uint16 `json:"code"`
			} `json:"status"`
			Patch            *string           `json:"patch"`
			PatchType        *string           `json:"patchType"`
			AuditAnnotations map[string]string `json:"auditAnnotations"`
			Warnings         []string          `json:"warnings"`
		} `json:"response"`
	}
	if err := decodeAnswer(result, &review); err != nil {
		return Response{}, err
	}
	answer := review.Response
	if answer == nil || answer.Allowed == nil {
		return Response{}, fmt.Errorf("the rule %s has no field response.allowed, which must be true or false", tidy(entrypoint, 200))
	}
	r := Response{Accepted: *answer.Allowed, AuditAnnotations: answer.AuditAnnotations, Warnings: answer.Warnings}
	if s := answer.Status; s != nil {
		for _, text := range []*string{s.Reason, s.Message} {
			if text != nil && *text != "" {
				r.Message = *text
			}
		}
		if s.Code != nil {
			r.Code = *s.Code
		}
	}
	if answer.Patch != nil && *answer.Patch != "" {
		if answer.PatchType == nil || *answer.PatchType != "JSONPatch" {
			return Response{}, errors.New("the answer has a patch without the patchType JSONPatch, which is the one that there is")
		}
		var err error
		if r.MutatedObject, err = patched(*answer.Patch, request); err != nil {
			return Response{}, err
		}
	}
	return r.bounded()
}

// patched applies a patch, in base64, to the object of the request.
func patched(patch string, request []byte) (object []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			object, err = nil, fmt.Errorf("the patch of the policy cannot be applied: %s", tidy(fmt.Sprint(r), 200))
		}
	}()
	text, err := base64.StdEncoding.DecodeString(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch of the policy is not base64: %w", err)
	}
	var asked struct {
		Object jsontext.Value `json:"object"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("the object of the request cannot be read: %w", err)
	}
	if kind := asked.Object.Kind(); len(asked.Object) == 0 || kind == 'n' {
		return nil, errors.New("the policy changes the object, but the request has none, as when something is deleted")
	}
	if !jsontext.Value(text).IsValid() {
		return nil, errors.New("the patch of the policy is not JSON")
	}
	operations, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("the patch of the policy is not a JSON patch: %s", tidy(err.Error(), 300))
	}
	if len(operations) > mostEntries {
		return nil, fmt.Errorf("the patch of the policy has %d operations; at most %d are accepted", len(operations), mostEntries)
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = longestText << 4
	object, err = operations.ApplyWithOptions(asked.Object, options)
	if err != nil {
		return nil, fmt.Errorf("the patch of the policy cannot be applied: %s", tidy(err.Error(), 300))
	}
	return object, nil
}
