package deny

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Index remembers what DenyPolicies say of clusters and of resources, as that
// does not change as long as the policies do not. Requests share it.
type Index struct {
	clusters  Memo[string, []bool]
	resources Memo[ResourceKey, []ruled]
	// madeUp are resources that whoever makes up a request may name: they fill no room of
	// the others.
	madeUp Memo[ResourceKey, []ruled]
}

// ResourceKey is what requests ask for, as far as rules go by it.
type ResourceKey struct{ Group, Resource, Subresource string }

// ruled is a policy with its rules about a resource, by their places.
type ruled struct {
	Policy *Policy
	Rules  []int
}

// MaxRemembered bounds each memory: names in requests can be anything.
const MaxRemembered = 4096

// Memo remembers up to MaxRemembered answers. What goes beyond is worked out each
// time.
type Memo[K comparable, V any] struct {
	answers sync.Map
	size    atomic.Int32
}

func (m *Memo[K, V]) Get(key K, work func() V) V {
	if known, ok := m.answers.Load(key); ok {
		return known.(V)
	}
	answer := work()
	if m.size.Load() < MaxRemembered {
		if _, known := m.answers.LoadOrStore(key, answer); !known {
			m.size.Add(1)
		}
	}
	return answer
}

// Here says of each DenyPolicy, by its place, whether it names the cluster.
func (s *Policies) Here(cluster string) []bool {
	return s.Index.clusters.Get(cluster, func() []bool {
		here := make([]bool, len(s.Deny))
		for i, p := range s.Deny {
			here[i] = p.Scope.inCluster(cluster)
		}
		return here
	})
}

// About are the policies with rules about what is asked for, in the order of
// precedence.
func (s *Policies) About(r *request.Request) []ruled {
	if r.Resource.Resource == "" {
		return nil
	}
	forms := FormsOf(r)
	if len(forms) > 1 {
		return s.rulesAbout(forms)
	}
	known := &s.Index.resources
	if r.Unauthenticated {
		known = &s.Index.madeUp
	}
	return known.Get(keyOf(forms[0]), func() []ruled { return s.rulesAbout(forms) })
}

// rulesAbout finds the rules about one of the forms at least.
func (s *Policies) rulesAbout(forms []impersonation.Form) []ruled {
	var found []ruled
	for _, p := range s.Ruled {
		one := ruled{Policy: p}
		for i, rule := range p.Rules {
			if slices.ContainsFunc(forms, func(f impersonation.Form) bool { return rule.isAbout(keyOf(f)) }) {
				one.Rules = append(one.Rules, i)
			}
		}
		if len(one.Rules) > 0 {
			found = append(found, one)
		}
	}
	return found
}
