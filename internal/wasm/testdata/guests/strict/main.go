// A policy that speaks waPC and reads the request as strictly as typed SDKs do, for
// tests: a field that is null, unknown or of another type is an error. With the
// setting show, it refuses and says what it read.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"
)

//go:wasmimport wapc __guest_request
func guestRequest(op, payload unsafe.Pointer)

//go:wasmimport wapc __guest_response
func guestResponse(ptr unsafe.Pointer, length uint32)

//go:wasmimport wapc __guest_error
func guestError(ptr unsafe.Pointer, length uint32)

func main() {}

type groupKind struct {
	Group, Version, Kind string
}

type groupResource struct {
	Group, Version, Resource string
}

type admissionRequest struct {
	UID                string
	Kind               groupKind
	Resource           groupResource
	SubResource        string
	RequestKind        groupKind
	RequestResource    groupResource
	RequestSubResource string
	Name, Namespace    string
	Operation          string
	UserInfo           struct {
		Username, UID string
		Groups        []string
		Extra         map[string][]string
	}
	Object, OldObject map[string]any
	DryRun            bool
	Options           map[string]any
}

//go:wasmexport __guest_call
func guestCall(opLen, payloadLen uint32) uint32 {
	op, payload := make([]byte, opLen), make([]byte, payloadLen)
	guestRequest(ptr(op), ptr(payload))
	answer, err := dispatch(string(op), payload)
	if err != nil {
		failure := []byte(err.Error())
		guestError(ptr(failure), uint32(len(failure)))
		return 0
	}
	guestResponse(ptr(answer), uint32(len(answer)))
	return 1
}

func dispatch(op string, payload []byte) ([]byte, error) {
	switch op {
	case "protocol_version":
		return []byte(`"v1"`), nil
	case "validate_settings":
		return []byte(`{"valid": true}`), nil
	}
	var in struct {
		Request  json.RawMessage
		Settings struct{ Show bool }
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in.Request, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if string(value) == "null" {
			return nil, fmt.Errorf("%s: invalid type: null", name)
		}
	}
	var r admissionRequest
	d := json.NewDecoder(bytes.NewReader(in.Request))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	if !in.Settings.Show {
		return json.Marshal(map[string]any{"accepted": true})
	}
	// The objects can be long, and which one is there is what counts.
	for _, name := range []string{"object", "oldObject"} {
		if fields[name] != nil {
			fields[name] = json.RawMessage(`"there"`)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"accepted": false, "message": string(text)})
}

func ptr(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}
