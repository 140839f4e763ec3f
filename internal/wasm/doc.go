// Package wasm runs policies that are WebAssembly modules: those that speak
// waPC, those that are WASI commands, and those that the Open Policy Agent
// compiled from Rego. What a policy may ask of its host is decided by the HostCall
// and the ContextData that the caller hands in; without them, it may ask for
// nothing.
//
// An Engine compiles a Module once. A Module gives an Evaluator for each policy
// that uses it. An evaluation never sees what another one left behind, ends
// within its deadline whatever the module does, and fails by itself: a trap, an
// answer that makes no sense or a limit that is passed is an *Error of that
// evaluation.
package wasm
