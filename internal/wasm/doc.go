// Package wasm runs policies that are WebAssembly modules: those that speak
// waPC, and those that are WASI commands. What a policy may ask of its host is
// decided by the HostCall that the caller hands in; without one, it may ask for
// nothing.
//
// An Engine compiles a Module once. A Module gives an Evaluator for each policy
// that uses it. An evaluation never sees what another one left behind, ends
// within its deadline whatever the module does, and fails alone: a trap, an
// answer that makes no sense or a limit that is passed is an *Error of that
// evaluation.
package wasm
