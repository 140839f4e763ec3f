package risk

import "github.com/sallyport-io/sallyport/api/v1alpha1"

// AsStrictAs reports whether the rules lead, for each pod that others judge, to at
// least what those lead to, whichever ways into it each covers. It goes by what is
// written, and is false where that does not show it.
func (r *Rules) AsStrictAs(other *Rules) bool {
	return (!r.failOpen || other.failOpen) && r.scope == other.scope &&
		r.exemptsNoMoreThan(other) && r.blocksAndWeighs(other) && r.thresholdsReach(other)
}

func (r *Rules) exemptsNoMoreThan(other *Rules) bool {
	if r.exemptNamespaces != nil && !other.exemptNamespaces.Includes(r.exemptNamespaces) || r.exemptCaps&^other.exemptCaps != 0 {
		return false
	}
	if len(r.exemptLabels) == 0 {
		return true
	}
	// The more labels a pod has to carry, the fewer pods are exempt.
	for key, value := range other.exemptLabels {
		if found, ok := r.exemptLabels[key]; !ok || found != value {
			return false
		}
	}
	return len(other.exemptLabels) > 0
}

// blocksAndWeighs reports whether each factor that others block is blocked, and each
// that they weigh is blocked or weighs as much.
func (r *Rules) blocksAndWeighs(other *Rules) bool {
	blockedCaps := r.blockedCaps
	if r.blocked.has(Capabilities) {
		blockedCaps = ^capabilitySet(0)
	}
	if other.blocked&^r.blocked != 0 || other.blockedCaps&^blockedCaps != 0 {
		return false
	}
	for f := range numFactors {
		if !r.blocked.has(f) && r.weights[f] < other.weights[f] {
			return false
		}
	}
	for c := range numCapabilities {
		if !blockedCaps.has(c) && r.capabilityWeights[c] < other.capabilityWeights[c] {
			return false
		}
	}
	return true
}

// thresholdsReach reports whether each score leads to at least what it leads to by the
// thresholds of others.
func (r *Rules) thresholdsReach(other *Rules) bool {
	for _, bounds := range [][]threshold{{{most: -1}}, r.thresholds, other.thresholds} {
		for _, t := range bounds {
			// Beyond the bound another action may begin.
			for _, score := range []int{t.most, t.most + 1} {
				if r.severityOf(score) < other.severityOf(score) {
					return false
				}
			}
		}
	}
	return true
}

// severityOf is that of the action that a score leads to.
func (r *Rules) severityOf(score int) int {
	if len(r.thresholds) == 0 {
		return 0
	}
	i := r.thresholdOf(score)
	if i < 0 {
		return severity(v1alpha1.ActionDeny)
	}
	return severity(r.thresholds[i].action)
}
