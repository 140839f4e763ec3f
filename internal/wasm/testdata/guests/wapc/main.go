// A policy that speaks waPC, for tests: it refuses pods that are privileged,
// labels a pod where its settings say so, and reads a namespace where they say
// so.
package main

import (
	"encoding/json"
	"fmt"
	"strconv"
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

//go:wasmimport wapc __console_log
func consoleLog(ptr unsafe.Pointer, length uint32)

func main() {}

// calls counts calls, so that a test sees whether anything is left of one.
var calls int

//go:wasmexport __guest_call
func guestCall(opLen, payloadLen uint32) uint32 {
	calls++
	op, payload := make([]byte, opLen), make([]byte, payloadLen)
	guestRequest(ptr(op), ptr(payload))
	answer, err := dispatch(string(op), payload)
	if err != nil {
		message := []byte(err.Error())
		guestError(ptr(message), uint32(len(message)))
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
		var s settings
		if err := json.Unmarshal(payload, &s); err != nil {
			return nil, err
		}
		if s.Label == "forbidden" {
			return []byte(`{"valid":false,"message":"the label must not be forbidden"}`), nil
		}
		return []byte(`{"valid":true}`), nil
	case "validate":
		var in input
		if err := json.Unmarshal(payload, &in); err != nil {
			return nil, err
		}
		answer, err := validate(in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}
	return nil, fmt.Errorf("no operation %q", op)
}

type settings struct {
	Label     string `json:"label"`
	Namespace string `json:"namespace"`
	// Kind is what is read by the name of Namespace; a Namespace if not given.
	Kind  string `json:"kind"`
	Panic bool   `json:"panic"`
}

type input struct {
	Request struct {
		Object map[string]any `json:"object"`
	} `json:"request"`
	Settings settings `json:"settings"`
}

func validate(in input) (map[string]any, error) {
	if in.Settings.Panic {
		panic("as asked")
	}
	if in.Settings.Namespace != "" {
		kind := in.Settings.Kind
		if kind == "" {
			kind = "Namespace"
		}
		request, _ := json.Marshal(map[string]string{"api_version": "v1", "kind": kind, "name": in.Settings.Namespace})
		found, err := call("kubewarden", "kubernetes", "get_resource", request)
		if err != nil {
			return map[string]any{"accepted": false, "message": "no context: " + err.Error()}, nil
		}
		return map[string]any{"accepted": true, "message": string(found)}, nil
	}
	spec, _ := in.Request.Object["spec"].(map[string]any)
	if spec["hostNetwork"] == true {
		log("a pod on the host's network")
		return map[string]any{"accepted": false, "message": "host network is not allowed, call " + strconv.Itoa(calls), "code": 400,
			"audit_annotations": map[string]string{"why": "network"}, "warnings": []string{"careful"}}, nil
	}
	if in.Settings.Label != "" {
		metadata, _ := in.Request.Object["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
			in.Request.Object["metadata"] = metadata
		}
		metadata["labels"] = map[string]any{in.Settings.Label: "set"}
		return map[string]any{"accepted": true, "mutated_object": in.Request.Object}, nil
	}
	return map[string]any{"accepted": true, "message": "call " + strconv.Itoa(calls)}, nil
}

func call(binding, namespace, operation string, payload []byte) ([]byte, error) {
	b, n, o := []byte(binding), []byte(namespace), []byte(operation)
	if hostCall(ptr(b), uint32(len(b)), ptr(n), uint32(len(n)), ptr(o), uint32(len(o)), ptr(payload), uint32(len(payload))) == 1 {
		answer := make([]byte, hostResponseLen())
		hostResponse(ptr(answer))
		return answer, nil
	}
	message := make([]byte, hostErrorLen())
	hostError(ptr(message))
	return nil, fmt.Errorf("%s", message)
}

func log(line string) {
	b := []byte(line)
	consoleLog(ptr(b), uint32(len(b)))
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
