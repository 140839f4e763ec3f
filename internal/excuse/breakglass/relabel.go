package breakglass

import (
	"cmp"
	"slices"
	"time"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// LabelKeys are the labels of namespaces that the overrides go by.
func (o *Overrides) LabelKeys() match.LabelKeys {
	var keys match.LabelKeys
	if o != nil && o.enabled {
		for _, n := range o.namespaces {
			keys.Add(n.LabelKeys())
		}
	}
	return keys
}

// scoped is an escalation, or a session of it, whose overrides go by the labels of
// namespaces.
type scoped struct {
	escalation *Escalation
	session    *Session
	overrides  *Overrides
	keys       match.LabelKeys
}

// scope lists the escalations and sessions that go by labels.
func (s *Set) scope() {
	add := func(one scoped) {
		if one.keys = one.overrides.LabelKeys(); one.keys.Any() {
			s.scoped = append(s.scoped, one)
		}
	}
	for _, e := range s.escalations {
		add(scoped{escalation: e, overrides: e.overrides})
	}
	for _, session := range s.sessions {
		e := s.escalations[session.Escalation]
		if e == nil || Final(session.object.Status.State) {
			continue
		}
		// What is not approved yet has no terms, and gives what the escalation does.
		add(scoped{escalation: e, session: session, overrides: e.overrides.both(session.termsOverrides)})
	}
	slices.SortFunc(s.scoped, func(a, b scoped) int {
		return cmp.Or(cmp.Compare(a.escalation.Name, b.escalation.Name), cmp.Compare(a.session.name(), b.session.name()))
	})
}

func (s *Session) name() string {
	if s == nil {
		return ""
	}
	return s.Name
}

// Widened names the escalations and sessions of a cluster whose overrides are for
// pods of a namespace with its new labels and were not with the old ones; keys are
// the labels that differ.
func (s *Set) Widened(cluster string, r *match.Relabelling, keys []string, now time.Time) []string {
	if s == nil {
		return nil
	}
	var names []string
	for i := range s.scoped {
		one := &s.scoped[i]
		if !one.keys.Has(keys) || !one.escalation.clusters.Match(cluster) {
			continue
		}
		name := KindEscalation + " " + one.escalation.Name
		if session := one.session; session != nil {
			name = KindSession + " " + session.Name
			if session.Cluster != cluster || session.over(one.escalation, now) {
				continue
			}
		}
		if !one.overrides.covers(r.Namespace, r.Before) && one.overrides.covers(r.Namespace, r.After) {
			names = append(names, name)
		}
	}
	return names
}

func (o *Overrides) covers(namespace string, labels map[string]string) bool {
	return o.Covers(namespace, func() (map[string]string, error) { return labels, nil })
}

// over reports whether the session has ended by its times. One that does not say when
// it was approved gives nothing, and is over since the beginning of time.
func (s *Session) over(e *Escalation, now time.Time) bool {
	return !now.Before(s.ends(e, s.Begins()))
}
