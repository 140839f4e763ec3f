// Package modulepolicy judges by policies that are modules: which requests each is asked
// about, by its own rules and by those of its module, what it is handed, what its answer
// comes to, and which PolicyServer runs it.
//
// A further field of ClusterAdmissionPolicy, AdmissionPolicy or PolicyServer goes here; how
// modules are run, and what they may ask, is in internal/wasm.
package modulepolicy
