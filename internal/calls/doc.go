// Package calls is the floor of what policies may ask for beyond the request: the calls that
// a module knows (hostcall) and the one gate that every call of every runtime passes
// (contextgate).
//
// It imports text. A further host call is added to hostcall, with the rule of the gate
// beside it; who answers it is a package of wasm.
package calls
