package policy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// denyIndex remembers what DenyPolicies say of clusters and of resources, as that
// does not change as long as the policies do not. Requests share it.
type denyIndex struct {
	clusters  memo[string, []bool]
	resources memo[resourceKey, []ruled]
}

// resourceKey is what requests ask for, as far as rules go by it.
type resourceKey struct{ group, resource, subresource string }

// ruled is a policy with its rules about a resource, by their places.
type ruled struct {
	policy *denyPolicy
	rules  []int
}

// maxRemembered bounds each memory: names in requests can be anything.
const maxRemembered = 4096

// memo remembers up to maxRemembered answers. What goes beyond is worked out each
// time.
type memo[K comparable, V any] struct {
	answers sync.Map
	size    atomic.Int32
}

func (m *memo[K, V]) get(key K, work func() V) V {
	if known, ok := m.answers.Load(key); ok {
		return known.(V)
	}
	answer := work()
	if m.size.Load() < maxRemembered {
		if _, known := m.answers.LoadOrStore(key, answer); !known {
			m.size.Add(1)
		}
	}
	return answer
}

// here says of each DenyPolicy, by its place, whether it names the cluster.
func (s *denyPolicies) here(cluster string) []bool {
	return s.index.clusters.get(cluster, func() []bool {
		here := make([]bool, len(s.deny))
		for i, p := range s.deny {
			here[i] = p.scope.inCluster(cluster)
		}
		return here
	})
}

// about are the policies with rules about what is asked for, in the order of
// precedence.
func (s *denyPolicies) about(r *request.Request) []ruled {
	if r.Resource.Resource == "" {
		return nil
	}
	forms := formsOf(r)
	if len(forms) > 1 {
		return s.rulesAbout(forms)
	}
	return s.index.resources.get(keyOf(forms[0]), func() []ruled { return s.rulesAbout(forms) })
}

// rulesAbout finds the rules about one of the forms at least.
func (s *denyPolicies) rulesAbout(forms []impersonation.Form) []ruled {
	var found []ruled
	for _, p := range s.ruled {
		one := ruled{policy: p}
		for i, rule := range p.rules {
			if slices.ContainsFunc(forms, func(f impersonation.Form) bool { return rule.isAbout(keyOf(f)) }) {
				one.rules = append(one.rules, i)
			}
		}
		if len(one.rules) > 0 {
			found = append(found, one)
		}
	}
	return found
}
