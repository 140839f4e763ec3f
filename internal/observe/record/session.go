package record

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// EventSession is a breakglass session that came into another state.
type EventSession struct {
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Escalation string `json:"escalation"`
	User       string `json:"user"`
	Cluster    string `json:"cluster,omitempty"`
	Group      string `json:"group,omitempty"`
	State      string `json:"state"`
	// By is who caused it; empty where time did.
	By        string `json:"by,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Approvers string `json:"approvedBy,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
}

// typeSession begins the types of events about sessions; the state follows, except
// for what asks, which is Requested.
const typeSession = "BreakglassSession"

// Session records that a session came into a state.
func (r *Recorder) Session(s *v1alpha1.BreakglassSession, t v1alpha1.SessionTransition) {
	r.metrics.transitions.WithLabelValues(string(t.State)).Inc()
	if r.audit != nil {
		r.audit.Add(sessionEvent(s, t))
	}
}

func sessionEvent(s *v1alpha1.BreakglassSession, t v1alpha1.SessionTransition) *Event {
	e := &EventSession{
		Name: s.Name, UID: string(s.UID), Escalation: s.Spec.EscalationRef, User: s.Spec.User, Cluster: s.Spec.Cluster,
		State: string(t.State), By: t.By, Reason: t.Reason,
	}
	kind, severity := string(t.State), severityInfo
	switch t.State {
	case v1alpha1.SessionPending:
		kind = "Requested"
	case v1alpha1.SessionApproved, v1alpha1.SessionWaiting, v1alpha1.SessionRevoked:
		severity = severityWarning
	}
	if terms := s.Status.Terms; terms != nil && t.State != v1alpha1.SessionPending {
		e.Group = terms.EscalatedGroup
		var names []string
		for i := range s.Status.Approvals {
			names = append(names, s.Status.Approvals[i].By)
		}
		e.Approvers = strings.Join(names, ", ")
		if at := s.Status.ExpiresAt; at != nil {
			e.ExpiresAt = at.UTC().Format("2006-01-02T15:04:05Z")
		}
	}
	user := t.By
	if user == "" {
		user = s.Spec.User
	}
	return &Event{
		Time: t.At.UTC(), Type: typeSession + kind, Severity: severity, Cluster: s.Spec.Cluster, Name: s.Name,
		User: EventUser{Name: user}, Session: e, Results: []EventResult{},
	}
}

// SessionCollector shows how many breakglass sessions there are in each state.
func SessionCollector(sessions func() []*breakglass.Session) prometheus.Collector {
	return sessionCollector{sessions}
}

type sessionCollector struct{ sessions func() []*breakglass.Session }

var sessionsDesc = prometheus.NewDesc("sallyport_breakglass_sessions", "Breakglass sessions by state.", []string{"state"}, nil)

func (c sessionCollector) Describe(to chan<- *prometheus.Desc) { to <- sessionsDesc }

func (c sessionCollector) Collect(to chan<- prometheus.Metric) {
	counts := map[v1alpha1.SessionState]int{}
	for _, state := range breakglass.States() {
		counts[state] = 0
	}
	for _, s := range c.sessions() {
		state := s.Object().Status.State
		if state == "" {
			state = v1alpha1.SessionPending
		}
		counts[state]++
	}
	for state, n := range counts {
		to <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(n), string(state))
	}
}
