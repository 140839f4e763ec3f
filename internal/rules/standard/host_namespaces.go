package standard

// Pods must not join the network, the processes or the IPC of their node.
//
// Fields:
//
//	spec.hostNetwork
//	spec.hostPID
//	spec.hostIPC
//
// Allowed: not set, false.
var hostNamespaces = []control{{
	id:   "hostNamespaces",
	name: "Host Namespaces",
	pod: func(s *scan) {
		if s.spec.HostNetwork {
			s.field("spec.hostNetwork", "true", mustBeFalse)
		}
		if s.spec.HostPID {
			s.field("spec.hostPID", "true", mustBeFalse)
		}
		if s.spec.HostIPC {
			s.field("spec.hostIPC", "true", mustBeFalse)
		}
	},
}}
