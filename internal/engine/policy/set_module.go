package policy

// moduleSet are the policies of a Set that are modules.
type moduleSet struct {
	modules moduleIndex
	// runner runs them.
	runner Modules
	// servers are the PolicyServers that there are.
	servers map[string]bool
}
