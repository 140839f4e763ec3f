// A policy that speaks waPC and does what its settings say, for tests: it stands in
// for any other.
package main

import (
	"encoding/json"
	"unsafe"
)

//go:wasmimport wapc __guest_request
func guestRequest(op, payload unsafe.Pointer)

//go:wasmimport wapc __guest_response
func guestResponse(ptr unsafe.Pointer, length uint32)

//go:wasmimport wapc __guest_error
func guestError(ptr unsafe.Pointer, length uint32)

//go:wasmimport wapc __host_call
func hostCall(binding unsafe.Pointer, bindingLen uint32, namespace unsafe.Pointer, namespaceLen uint32, operation unsafe.Pointer, operationLen uint32, payload unsafe.Pointer, payloadLen uint32) uint32

//go:wasmimport wapc __host_response_len
func hostResponseLen() uint32

//go:wasmimport wapc __host_response
func hostResponse(ptr unsafe.Pointer)

//go:wasmimport wapc __host_error_len
func hostErrorLen() uint32

//go:wasmimport wapc __host_error
func hostError(ptr unsafe.Pointer)

func main() {}

type settings struct {
	// Invalid is why the settings are refused, and Broken an error in its place.
	Invalid, Broken string
	Calls           []struct {
		Namespace, Operation string
		Payload              json.RawMessage
	}
	// CallsFirst has the calls made when the settings are validated.
	CallsFirst bool
	// Answer is given as it stands; without one, the request is accepted. Fail is
	// given in its place if a call fails.
	Answer, Fail json.RawMessage
}

//go:wasmexport __guest_call
func guestCall(opLen, payloadLen uint32) uint32 {
	op, payload := make([]byte, opLen), make([]byte, payloadLen)
	guestRequest(ptr(op), ptr(payload))
	answer, failure := dispatch(string(op), payload)
	if failure != "" {
		guestError(ptr([]byte(failure)), uint32(len(failure)))
		return 0
	}
	guestResponse(ptr(answer), uint32(len(answer)))
	return 1
}

func dispatch(op string, payload []byte) (answer []byte, failure string) {
	if op == "protocol_version" {
		return []byte(`"v1"`), ""
	}
	var in struct {
		Request  json.RawMessage
		Settings settings
	}
	into := any(&in)
	if op == "validate_settings" {
		into = &in.Settings
	}
	if err := json.Unmarshal(payload, into); err != nil {
		return nil, err.Error()
	}
	s := &in.Settings
	if op == "validate_settings" {
		if s.CallsFirst {
			if answers, failed := s.call(); failed {
				s.Invalid = answers
			}
		}
		if s.Broken != "" {
			return nil, s.Broken
		}
		answer, _ = json.Marshal(map[string]any{"valid": s.Invalid == "", "message": s.Invalid})
		return answer, ""
	}
	answers, failed := "", false
	if !s.CallsFirst {
		answers, failed = s.call()
	}
	switch {
	case failed && s.Fail == nil:
		answer, _ = json.Marshal(map[string]any{"accepted": false, "message": "a host call failed: " + answers})
		return answer, ""
	case failed:
		return s.Fail, ""
	case s.Answer == nil:
		answer, _ = json.Marshal(map[string]any{"accepted": true, "message": answers})
		return answer, ""
	}
	return s.Answer, ""
}

// call makes the calls and gives all answers, or the error of the first that fails.
func (s *settings) call() (answers string, failed bool) {
	for _, c := range s.Calls {
		binding := []byte("kubewarden")
		namespace, operation := []byte(c.Namespace), []byte(c.Operation)
		if hostCall(ptr(binding), uint32(len(binding)), ptr(namespace), uint32(len(namespace)), ptr(operation), uint32(len(operation)), ptr(c.Payload), uint32(len(c.Payload))) == 0 {
			message := make([]byte, hostErrorLen())
			hostError(ptr(message))
			return string(message), true
		}
		answer := make([]byte, hostResponseLen())
		hostResponse(ptr(answer))
		answers += string(answer)
	}
	return answers, false
}

func ptr(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}
