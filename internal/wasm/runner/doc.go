// Package runner runs the modules of ClusterAdmissionPolicies and
// AdmissionPolicies: it gets each from where it is, compiles it, has it look at
// its settings, and then asks it about requests. All of that happens beside the
// requests, which never wait for a module that is not there yet: they get an
// error, and the policy's failurePolicy says what follows.
package runner
