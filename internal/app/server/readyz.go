package server

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// leavingReason is what is missing of a replica that is ending.
const leavingReason = "this replica is ending; others are to be asked"

// readyz answers 200 when requests can be judged: policies are loaded, caches
// have synced, the certificate is valid; and no more once the replica is ending, though
// it still answers. A change of the policies that was
// refused does not make it fail, as the last good ones are in force, but stands
// in the detail. The detail names policies, and so is for callers that are
// authenticated; others read ok, or that something is missing.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	var missing []string
	if s.leaving.Load() {
		missing = append(missing, leavingReason)
	}
	if s.Ready != nil {
		missing = append(missing, s.Ready()...)
	}
	if s.certificate != nil {
		if err := s.certificate.valid(); err != nil {
			missing = append(missing, err.Error())
		}
	}
	var b strings.Builder
	if s.roams(r) == nil {
		s.describe(&b)
		if s.Warnings != nil {
			for _, what := range s.Warnings() {
				fmt.Fprintf(&b, "warning: %s\n", what)
			}
		}
		for _, what := range missing {
			fmt.Fprintf(&b, "missing: %s\n", what)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(missing) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%snot ready\n", b.String())
		return
	}
	fmt.Fprintf(w, "%sok\n", b.String())
}

// mostBroken is how many broken objects are named.
const mostBroken = 100

// describeBroken names what is stored and cannot work. It does not make readyz
// fail: the requests that it is about are answered.
func (s *Server) describeBroken(b *strings.Builder) {
	broken := s.Store.Set().Broken()
	for i, one := range broken {
		if i == mostBroken {
			fmt.Fprintf(b, "broken: ... and %d more\n", len(broken)-i)
			return
		}
		fmt.Fprintf(b, "broken: %s cannot work: %s; %s\n", one.Called(), one.Why(), one.Meanwhile())
	}
}

func (s *Server) describe(b *strings.Builder) {
	counts, state := s.Store.Set().Counts(), s.Store.State()
	fmt.Fprintf(b, "policies: %d DenyPolicies, %d ClusterPolicies, %d Policies", counts.DenyPolicies, counts.ClusterPolicies, counts.Policies)
	if !state.Loaded.IsZero() {
		fmt.Fprintf(b, ", in force since %s", state.Loaded.UTC().Format(time.RFC3339))
	}
	b.WriteByte('\n')
	s.describeBroken(b)
	for _, sentence := range s.Store.Set().CoverNothing(s.ClusterName, "--cluster-name") {
		fmt.Fprintf(b, "warning: %s\n", sentence)
	}
	if len(state.Problems) > 0 {
		fmt.Fprintf(b, "reload refused at %s, the last good policies stay in force:\n", state.Failed.UTC().Format(time.RFC3339))
		for _, p := range state.Problems {
			fmt.Fprintf(b, "  %s\n", p.Error())
		}
	}
}
