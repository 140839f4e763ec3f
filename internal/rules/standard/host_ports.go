package standard

import (
	"strconv"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Containers must not take ports of their node.
//
// Fields, of each container:
//
//	ports[*].hostPort
//
// Allowed: not set, 0.
var hostPorts = []control{{
	id:   "hostPorts",
	name: "Host Ports",
	container: func(s *scan, c pod.Container) {
		for i := range c.Ports {
			if port := c.Ports[i].HostPort; port != 0 {
				s.inContainer(c, "ports["+strconv.Itoa(i)+"].hostPort", strconv.Itoa(int(port)), "must be 0 or not set")
			}
		}
	},
}}
