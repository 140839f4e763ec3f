// Package text is the floor on which what somebody wrote is read: JSON as the API server
// reads it or strictly, wildcards in names, masks of fields, what must not be said of a
// secret, and where an object was read from and what is wrong with it.
//
// It imports nothing of ours but api/v1alpha1. A further form in which objects are
// written is read by a package of files, which stands on the engine.
package text
