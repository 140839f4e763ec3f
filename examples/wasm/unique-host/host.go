//go:build wasip1

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"
)

//go:wasmimport host call
func hostCall(binding unsafe.Pointer, bindingLen uint32, namespace unsafe.Pointer, namespaceLen uint32,
	operation unsafe.Pointer, operationLen uint32, payload unsafe.Pointer, payloadLen uint32) uint32

// call asks the host, and reads its answer, which comes on standard input.
func call(namespace, operation string, ask, into any) error {
	payload, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	binding, n, o := []byte("kubewarden"), []byte(namespace), []byte(operation)
	status := hostCall(pointer(binding), uint32(len(binding)), pointer(n), uint32(len(n)), pointer(o), uint32(len(o)), pointer(payload), uint32(len(payload)))
	said, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if status != 0 {
		return errors.New(string(said))
	}
	if err := json.Unmarshal(said, into); err != nil {
		return fmt.Errorf("the host's answer cannot be read: %w", err)
	}
	return nil
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
