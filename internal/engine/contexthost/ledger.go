package contexthost

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
)

// Denials are the refusals of one resource, or call, to one policy.
type Denials struct {
	// Policy is Kind/name or Kind/namespace/name.
	Policy   string
	Resource string
	// Verb and Why are those of the last refusal, at Last.
	Verb, Why string
	Last      time.Time
	// Count counts them since the Host was made.
	Count int64
}

// Bounds of the ledger: what is beyond them is counted together, so that a module
// that makes up names fills no memory, here nor in whatever scrapes the metric.
const (
	maxDenials          = 4096
	maxDenialsPerPolicy = 64
	// maxNamespaced are those of policies of namespaces, all together: what they fill
	// keeps no refusal to a policy of the cluster from being told under its name.
	maxNamespaced = maxDenials / 2
	other         = "other"
	otherPolicies = "/" + other
)

// isNamespaced reports whether a policy, as Kind/name or Kind/namespace/name, is one
// of a namespace.
func isNamespaced(policy string) bool { return strings.Count(policy, "/") > 1 }

type denialKey struct{ policy, resource string }

// ledger counts refusals.
type ledger struct {
	mu      sync.Mutex
	entries map[denialKey]*Denials
	each    map[string]int
	told    map[denialKey]time.Time
	// namespaced counts the entries of policies of namespaces.
	namespaced int
}

func newLedger() *ledger {
	return &ledger{entries: map[denialKey]*Denials{}, each: map[string]int{}, told: map[denialKey]time.Time{}}
}

// add counts a refusal. tell says whether somebody should be told now: of the
// first, and then from time to time.
func (l *ledger) add(d *contextgate.Denied) (entry Denials, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := denialKey{d.Policy, d.Resource}
	e := l.entries[key]
	if e == nil {
		if len(l.entries) >= maxDenials || l.namespaced >= maxNamespaced && isNamespaced(d.Policy) {
			key.policy = otherPolicies
		}
		if l.each[key.policy] >= maxDenialsPerPolicy-1 || key.policy == otherPolicies {
			key.resource = other
		}
		if e = l.entries[key]; e == nil {
			e = &Denials{Policy: key.policy, Resource: key.resource}
			l.entries[key] = e
			l.each[key.policy]++
			if isNamespaced(key.policy) {
				l.namespaced++
			}
		}
	}
	e.Count++
	e.Verb, e.Why, e.Last = d.Verb, d.Why, d.At
	if last, ok := l.told[key]; !ok || d.At.Sub(last) >= tellEvery {
		l.told[key], tell = d.At, true
	}
	return *e, tell
}

// all lists the entries, only those of one policy where it is named.
func (l *ledger) all(policy string) []Denials {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Denials
	for key, e := range l.entries {
		if policy == "" || key.policy == policy {
			all = append(all, *e)
		}
	}
	slices.SortFunc(all, func(a, b Denials) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

// Denials lists what was refused to a policy, named as contextgate.Policy names
// itself; to all of them where the name is empty.
func (h *Host) Denials(policy string) []Denials { return h.ledger.all(policy) }
