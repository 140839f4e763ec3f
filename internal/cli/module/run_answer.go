package module

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// refusal makes of a module that answers its settings with an error one that refuses
// them: modules that cannot read their settings say so in this way. What is left is
// a module that could not answer.
func refusal(valid wasm.SettingsResponse, err error) (wasm.SettingsResponse, error) {
	var failed *wasm.Error
	if errors.As(err, &failed) && (failed.Reason == wasm.ReasonGuest || failed.Reason == wasm.ReasonExit) {
		return wasm.SettingsResponse{Message: failed.Err.Error()}, nil
	}
	return valid, err
}

// refuseSettings tells of settings that a module refuses, for people and for scripts.
func refuseSettings(s command.Streams, refused wasm.SettingsResponse) error {
	err := printLine(s, struct {
		Valid   bool   `json:"valid"`
		Message string `json:"message"`
	}{false, refused.Message})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "Provided settings are not valid: %s\n", decision.Clean(refused.Message))
	return command.Exit(command.Denied)
}

// printLine writes JSON on a line of its own. Nothing in it is escaped for browsers:
// whoever looks for a message in it looks for it as it is.
func printLine(s command.Streams, value any) error {
	encoder := json.NewEncoder(s.Out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	return nil
}

// answer prints the AdmissionResponse.
func (f *policyRunFlags) answer(s command.Streams, asked *moduleRequest, metadata *module.Metadata, r wasm.Response, judged error) error {
	answer := moduleAnswer{UID: asked.uid, Allowed: r.Accepted, AuditAnnotations: r.AuditAnnotations, Warnings: r.Warnings}
	if r.Message != "" || r.Code != 0 {
		answer.Status = &moduleStatus{Message: r.Message, Code: int(r.Code)}
	}
	if judged == nil && r.Accepted && r.MutatedObject != nil {
		if len(asked.object) == 0 || string(asked.object) == "null" {
			answer = moduleAnswer{UID: asked.uid, Status: &moduleStatus{Message: "the policy changes the object, but the request has none, as when something is deleted"}}
		} else if patch, err := r.Patch(asked.object, metadata == nil || metadata.Mutating); err != nil {
			judged = err
		} else if patch != nil {
			answer.PatchType, answer.Patch = "JSONPatch", base64.StdEncoding.EncodeToString(patch)
		}
	}
	if judged != nil {
		answer = moduleAnswer{UID: asked.uid, Status: &moduleStatus{Message: "internal server error: " + judged.Error(), Code: 500}}
	}
	if err := printLine(s, answer); err != nil {
		return err
	}
	if judged != nil {
		return command.Exit(command.Wrong)
	}
	return nil
}

// moduleAnswer is an AdmissionResponse of admission.k8s.io/v1, in which allowed
// always stands.
type moduleAnswer struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	PatchType        string            `json:"patchType,omitempty"`
	Patch            string            `json:"patch,omitempty"`
	Status           *moduleStatus     `json:"status,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

type moduleStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}
