// A policy that is a WASI command, for tests. It does what its sister that
// speaks waPC does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"
)

//go:wasmimport host call
func hostCall(binding unsafe.Pointer, bindingLen uint32, namespace unsafe.Pointer, namespaceLen uint32, operation unsafe.Pointer, operationLen uint32, payload unsafe.Pointer, payloadLen uint32) uint32

type settings struct {
	Label     string `json:"label"`
	Namespace string `json:"namespace"`
	Exit      int    `json:"exit"`
	Sleep     int    `json:"sleep"`
}

type input struct {
	Request struct {
		Object map[string]any `json:"object"`
	} `json:"request"`
	Settings settings `json:"settings"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 || os.Args[0] != "policy.wasm" {
		return fmt.Errorf("called as %q", os.Args)
	}
	payload, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var answer any
	switch os.Args[1] {
	case "validate-settings":
		var s settings
		if err := json.Unmarshal(payload, &s); err != nil {
			return err
		}
		answer = map[string]any{"valid": s.Label != "forbidden", "message": "the label must not be forbidden"}
	case "validate":
		var in input
		if err := json.Unmarshal(payload, &in); err != nil {
			return err
		}
		answer, err = validate(in)
		if err != nil {
			return err
		}
	default:
		return fmt.Errorf("no operation %q", os.Args[1])
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func validate(in input) (map[string]any, error) {
	time.Sleep(time.Duration(in.Settings.Sleep) * time.Second)
	if in.Settings.Exit != 0 {
		fmt.Fprintln(os.Stderr, "exits as asked")
		os.Exit(in.Settings.Exit)
	}
	if in.Settings.Namespace != "" {
		request, _ := json.Marshal(map[string]string{"api_version": "v1", "kind": "Namespace", "name": in.Settings.Namespace})
		found, err := call("kubewarden", "kubernetes", "get_resource", request)
		if err != nil {
			return map[string]any{"accepted": false, "message": "no context: " + err.Error()}, nil
		}
		return map[string]any{"accepted": true, "message": string(found)}, nil
	}
	spec, _ := in.Request.Object["spec"].(map[string]any)
	if spec["hostNetwork"] == true {
		fmt.Fprintln(os.Stderr, "a pod on the host's network")
		return map[string]any{"accepted": false, "message": "host network is not allowed"}, nil
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
	return map[string]any{"accepted": true}, nil
}

func call(binding, namespace, operation string, payload []byte) ([]byte, error) {
	b, n, o := []byte(binding), []byte(namespace), []byte(operation)
	code := hostCall(ptr(b), uint32(len(b)), ptr(n), uint32(len(n)), ptr(o), uint32(len(o)), ptr(payload), uint32(len(payload)))
	answer, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("%s", answer)
	}
	return answer, nil
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
