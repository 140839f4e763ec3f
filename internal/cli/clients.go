package cli

import "k8s.io/client-go/rest"

// pace is how many requests a second a client may send, and how many may come at once.
type pace struct {
	qps   float32
	burst int
}

// Paces of clients that have more to ask than client-go lets one that says nothing:
// what is written or asked again after a change of policies has to be done within a
// second.
var (
	// A thousand policies are told of in under a minute, and the API server has better
	// things to do.
	statusPace = pace{25, 50}
	// A look at webhooks reads four configurations and what the API server has.
	webhooksPace = pace{50, 100}
	// A replica writes its Lease four times a second at most.
	replicasPace = pace{10, 20}
	// What DenyPolicies are about is asked about one by one, again every half minute.
	reachedPace = pace{50, 100}
)

// of is a copy of config with this pace.
func (p pace) of(config *rest.Config) *rest.Config {
	paced := rest.CopyConfig(config)
	paced.QPS, paced.Burst, paced.RateLimiter = p.qps, p.burst, nil
	return paced
}
