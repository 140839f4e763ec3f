// Package files is the floor of what stands in files: policies, cluster objects and manifests
// with the lines that they stand on (load), policies of other systems (convert), what the
// API server would fill in (defaults), what files come to once they are compiled
// (compiled), a policy server's file of policies (policiesfile), and in which form results
// are printed (output).
//
// It imports what is below it. A further output format goes to output, a further system
// whose policies are converted to convert.
package files
