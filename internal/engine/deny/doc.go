// Package deny judges by DenyPolicies: the rules about requests, the risk of the pods that
// an access gets into, the labels and namespaces that exempt from it, and the sessions that
// let somebody in all the same.
//
// A further field of a DenyPolicy, and a further way into a pod (openways.go), go here; a
// further risk factor goes to internal/rules/risk.
package deny
