package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

// caller is who asks, as far as it matters which clusters they may ask for.
type caller struct {
	// commonName of the client certificate that was shown; empty without one.
	commonName string
	// clusters that a bearer token is bound to; nil for one that is bound to none.
	clusters []string
	// unauthenticated is set for one that showed nothing, and asks from this address.
	unauthenticated bool
	from            netip.Addr
}

// bound lists the clusters that a caller is bound to, by its token or by the
// ClusterConfigs that name it. is is false for a caller that is not bound at all.
func (g *gate) bound(c *caller) (clusters []string, is bool) {
	if c.clusters != nil {
		return c.clusters, true
	}
	if c.commonName == "" || g.BoundTo == nil {
		return nil, false
	}
	return g.BoundTo(c.commonName)
}

// mayAsk refuses a caller that asks for a cluster which it is not bound to, or
// for one that other callers are bound to. It says nothing of whether there is
// such a cluster.
func (g *gate) mayAsk(c *caller, cluster string, exclusive bool) error {
	if c.unauthenticated && cluster != g.ClusterName {
		return fmt.Errorf("whoever shows no credentials may not ask for cluster %q, but only for the one that this server is in", cluster)
	}
	clusters, is := g.bound(c)
	if slices.Contains(clusters, cluster) || !is && !exclusive {
		return nil
	}
	return fmt.Errorf("whoever asks here may not ask for cluster %q; bind the certificate or the token of its API server to it", cluster)
}

// roams reports whether a caller may ask for whatever no other is bound to. Only
// such read what is about every cluster, as metrics are.
func (s *Server) roams(r *http.Request) error {
	c, err := s.auth.authenticate(r)
	if err != nil {
		return err
	}
	if _, is := s.gate.bound(&c); is {
		return errBound
	}
	return nil
}

var errBound = fmt.Errorf("%w: this one is bound to a cluster, and reads nothing that is about others", errUnauthenticated)
