// Package module has the policy commands, which work with a policy that is a module: run,
// inspect, annotate and scaffold. How modules are run is in wasm; a further command about
// modules, and a further flag of policy run, goes here.
package module
