package deny

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// CoverNothing says of each DenyPolicy that names clusters, in a sentence, that
// it covers nothing where the cluster has no name. flag is what gives it one. A
// policy that names other clusters than this one is as it was meant, and nothing
// is said of it.
func (s *Policies) CoverNothing(cluster, flag string) []string {
	if cluster != "" {
		return nil
	}
	var sentences []string
	for _, p := range s.Deny {
		if p.Scope.inCluster(cluster) {
			continue
		}
		sentences = append(sentences, fmt.Sprintf("%s %s covers nothing: it is for the clusters %s, and this cluster has no name; give it one with %s",
			stored.KindDenyPolicy, p.Name, strings.Join(p.Scope.Written.Clusters, ", "), flag))
	}
	return sentences
}
