// Package pace says how often each client asks the API server: all of them are here, and
// a client that says nothing would be held to what client-go takes for one, 5 requests a
// second.
package pace

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// Pace is how many requests a second a client may send, and how many may come at once.
type Pace struct {
	qps   float32
	burst int
	// own is set where the caller tries again at times of his own.
	own bool
}

// Paces of what has no end of its own: the API server bounds each of them, or there are
// few at a time.
var (
	// Watches are lists and watches, which are tried again at times of their own. All
	// that there is has to be listed again soon after an API server was away.
	Watches = Pace{qps: -1, own: true}
	// Reads are answers to requests that the API server sends, and so bounded by it. A
	// limit on our side could only queue them until their callers have given up; under
	// overload the API server answers 429, which is an answer.
	Reads = Pace{qps: -1}
)

// Paces of what is written, or asked again after a change of policies, which has to be
// done within a second.
var (
	// Status: a thousand policies are told of in under a minute, and the API server has
	// better things to do.
	Status = Pace{qps: 25, burst: 50}
	// Exceptions there are ten times as many.
	Exceptions = Pace{qps: 100, burst: 100}
	// Webhooks: a look reads four configurations and what the API server has.
	Webhooks = Pace{qps: 50, burst: 100}
	// Elections renew a Lease every 0.4 s, and must not wait behind anything else: who
	// does not renew it in time leads no more.
	Elections = Pace{qps: 20, burst: 20}
	// Replicas write their Leases four times a second at most.
	Replicas = Pace{qps: 10, burst: 20}
	// Reached: what DenyPolicies are about is asked about one by one, again every half
	// minute.
	Reached = Pace{qps: 50, burst: 100}
	// DryRuns are those of check.
	DryRuns = Pace{qps: 50, burst: 100}
	// Few is for what is seldom written or asked, or has time.
	Few = Pace{qps: 5, burst: 10}
)

// Of is a copy of config with this pace.
func (p Pace) Of(config *rest.Config) *rest.Config {
	paced := rest.CopyConfig(config)
	paced.QPS, paced.Burst, paced.RateLimiter = p.qps, p.burst, nil
	if p.own {
		paced.Wrap(func(next http.RoundTripper) http.RoundTripper { return atOnce{next} })
	}
	return paced
}

// atOnce has each answer given to the caller at once. client-go would wait for as long as
// the answer says, a second at least, up to ten times and without a word: an API server
// that has just started says so of each kind that it does not serve yet.
type atOnce struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (a atOnce) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper is what closes the connections.
func (a atOnce) WrappedRoundTripper() http.RoundTripper { return a.next }
