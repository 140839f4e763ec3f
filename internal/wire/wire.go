// Package wire reads JSON as the API server does: names of fields are
// case-sensitive, a name that stands twice is an error, names that a type does
// not have are passed over, and depth is bounded.
package wire
