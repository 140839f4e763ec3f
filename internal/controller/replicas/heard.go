package replicas

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Heard is what the Lease of a replica says to whoever reads it, such as a person who
// looks at an installation.
type Heard struct {
	// Identity is who the replica is, and Installation of which it is one.
	Identity, Installation string
	// Ready is set where it answers, and Observes where it refuses nothing.
	Ready, Observes bool
	// Word is the one by which it asks whether the API server reaches both doors.
	Word string
	// Troubles is what it cannot do of what it has in force, a sentence each.
	Troubles []string
	// Renewed is when it was heard of last, by its own clock, and Written the same by
	// that of the API server, cut to seconds; zero where it is not known.
	Renewed, Written time.Time
	// Until is when it counts as gone.
	Until   time.Time
	content Content
}

// Hear reads the Lease of a replica; false for a Lease of something else.
func Hear(lease *coordinationv1.Lease) (*Heard, bool) {
	installation, is := lease.Labels[LabelOf]
	if !is {
		return nil, false
	}
	said := sayingOf(lease)
	h := &Heard{Identity: said.identity, Installation: installation, Ready: said.ready, Observes: said.observes, Word: said.word, content: said.content}
	for i := range said.troubles {
		t := &said.troubles[i]
		name := t.Name
		if t.Namespace != "" {
			name = t.Namespace + "/" + name
		}
		h.Troubles = append(h.Troubles, t.Kind+" "+name+": "+t.Why)
	}
	if lease.Spec.RenewTime != nil {
		h.Renewed = lease.Spec.RenewTime.Time
		h.Until = h.Renewed.Add(said.lasts)
	}
	for i := range lease.ManagedFields {
		if at := lease.ManagedFields[i].Time; at != nil && at.After(h.Written) {
			h.Written = at.Time
		}
	}
	return h, true
}

// Same reports whether two replicas have the same in force.
func (h *Heard) Same(other *Heard) bool {
	for kind := range h.content {
		if h.content[kind].Digest != other.content[kind].Digest {
			return false
		}
	}
	return len(h.content) == len(other.content)
}

// Skew is how far the clock of the replica is ahead of that of the API server; false
// where it is not known. The API server notes seconds only, so that less than one says
// nothing.
func (h *Heard) Skew() (time.Duration, bool) {
	if h.Renewed.IsZero() || h.Written.IsZero() {
		return 0, false
	}
	return h.Renewed.Truncate(time.Second).Sub(h.Written), true
}
