// Package patterns compares patterns with the engine that their language comes
// from, at random. It is a module of its own, so that Sallyport does not depend on
// that engine.
package patterns
