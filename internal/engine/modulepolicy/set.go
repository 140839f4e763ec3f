package modulepolicy

// Set are the policies of a Set that are modules.
type Set struct {
	Modules index
	// Runner runs them.
	Runner Modules
	// Servers are the PolicyServers that there are.
	Servers map[string]bool
}
