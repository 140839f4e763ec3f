// Package source says where objects that are compiled were read from, and what
// is wrong with them.
package source

// Of is an object with the file and document that it was read from.
type Of[T any] struct {
	Object T
	// Origin such as "policies/prod.yaml, document 2"; empty for an object of
	// the API server.
	Origin string
}
