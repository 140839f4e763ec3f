// Package examples holds policies, manifests and objects of a cluster that show
// what Sallyport does. `sallyport demo` judges those in the folder demo; the
// tests judge all of them.
package examples

import "embed"

// Files are the examples, by their paths in this folder.
//
//go:embed auditing breakglass claims cluster demo denypolicies identities podsecurity workloads
var Files embed.FS
