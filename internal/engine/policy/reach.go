package policy

import (
	"fmt"
	"strings"
)

// CoverNothing says of each DenyPolicy that names clusters, in a sentence, that
// it covers nothing where the cluster has no name. flag is what gives it one. A
// policy that names other clusters than this one is as it was meant, and nothing
// is said of it.
func (s *denyPolicies) CoverNothing(cluster, flag string) []string {
	if cluster != "" {
		return nil
	}
	var sentences []string
	for _, p := range s.deny {
		if p.scope.inCluster(cluster) {
			continue
		}
		sentences = append(sentences, fmt.Sprintf("%s %s covers nothing: it is for the clusters %s, and this cluster has no name; give it one with %s",
			KindDenyPolicy, p.name, strings.Join(p.scope.written.Clusters, ", "), flag))
	}
	return sentences
}
