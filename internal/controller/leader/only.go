package leader

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Only is a copy of config with which only the replica that leads can write: what one that
// does not sends to change something comes to an error, and is not sent. Whoever writes
// looks whether it leads when it begins, and may go on for longer than that holds.
func Only(config *rest.Config, leads func() bool) *rest.Config {
	held := rest.CopyConfig(config)
	held.Wrap(func(next http.RoundTripper) http.RoundTripper { return only{next, leads} })
	return held
}

type only struct {
	next  http.RoundTripper
	leads func() bool
}

// RoundTrip sends a request, if it reads or this replica leads.
func (o only) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead && !o.leads() {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, fmt.Errorf("%s %s is not sent: another replica leads now, and writes", request.Method, request.URL.Path)
	}
	return o.next.RoundTrip(request)
}

// WrappedRoundTripper is what closes the connections.
func (o only) WrappedRoundTripper() http.RoundTripper { return o.next }
