// Package regoguest compiles Rego to Wasm for tests, as opa build does.
package regoguest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/compile"
)

// Compile returns the module of a policy whose rules entrypoints, such as
// policy/main, are evaluated.
func Compile(ctx context.Context, source string, entrypoints ...string) ([]byte, error) {
	compiler := compile.New().
		WithFS(fstest.MapFS{"policy.rego": {Data: []byte(source)}}).
		WithPaths("policy.rego").
		WithRegoVersion(ast.RegoV1).
		WithTarget(compile.TargetWasm).
		WithEnablePrintStatements(true).
		WithEntrypoints(entrypoints...)
	if err := compiler.Build(ctx); err != nil {
		return nil, fmt.Errorf("the policy cannot be compiled: %w", err)
	}
	modules := compiler.Bundle().WasmModules
	if len(modules) != 1 {
		return nil, errors.New("the compiler made no module")
	}
	return modules[0].Raw, nil
}

// CompileFile is Compile of a file.
func CompileFile(ctx context.Context, file string, entrypoints ...string) ([]byte, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Compile(ctx, string(source), entrypoints...)
}
