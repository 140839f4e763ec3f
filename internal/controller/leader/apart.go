package leader

import (
	"net"

	"k8s.io/client-go/rest"
)

// Apart is a copy of config by which an election asks over connections of its own. All
// other clients of a process share one, by HTTP/2, and where an API server dies without a
// word they wait on it until it is given up, for up to 45 s. By HTTP/1.1 a call that was
// given up closes its connection, so that the next begins another.
func Apart(config *rest.Config) *rest.Config {
	apart := rest.CopyConfig(config)
	if apart.Dial == nil {
		apart.Dial = (&net.Dialer{Timeout: renewDeadline}).DialContext
	}
	apart.NextProtos = []string{"http/1.1"}
	return apart
}
