package risk

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// maxWeight is the highest weight, and 0 the lowest: a factor never makes a pod
// less of a risk.
const maxWeight = 100

func (c *compiler) weights(f *v1alpha1.RiskFactors, path *field.Path) {
	for factor := range numFactors {
		weight := factors[factor].weight(f)
		c.checkWeight(path.Child(factor.String()), weight)
		c.out.weights[factor] = int(weight)
		if weight > 0 {
			c.out.weighed.add(factor)
		}
	}
	path = path.Child("capabilities")
	written := make(map[capability]string, len(f.Capabilities))
	for _, name := range sortedKeys(f.Capabilities) {
		weight, at := f.Capabilities[name], path.Key(name)
		c.checkWeight(at, weight)
		found := parseCapability(name)
		if found == otherCapability {
			c.invalid(at, name, "is not a capability of Linux%s", didYouMean(withoutCAP(name), capabilityNames[:]))
			continue
		}
		if before, twice := written[found]; twice {
			c.invalid(at, name, "is the same capability as %s; write it once", before)
			continue
		}
		written[found] = name
		c.out.capabilityWeights[found] = int(weight)
		if weight > 0 {
			c.out.weighedCaps.add(found)
		}
	}
}

func (c *compiler) checkWeight(path *field.Path, weight int32) {
	if weight < 0 || weight > maxWeight {
		c.invalid(path, weight, "weights are 0 to %d", maxWeight)
	}
}

// blockFactors takes the names of factors, and capability:NAME. The name
// capabilities blocks whatever capability is added.
func (c *compiler) blockFactors(names []string, path *field.Path) {
	for i, name := range names {
		if factor, ok := Parse(name); ok {
			c.out.blocked.add(factor)
			continue
		}
		single, ok := strings.CutPrefix(name, capabilityPrefix)
		if !ok {
			c.invalid(path.Index(i), name, "is not a risk factor: a name out of riskFactors or %sNAME is needed%s", capabilityPrefix, suggestFactor(name))
			continue
		}
		found := parseCapability(single)
		if found == otherCapability {
			c.invalid(path.Index(i), name, "names no capability of Linux%s", didYouMean(capabilityPrefix+withoutCAP(single), capabilityFactors[:]))
			continue
		}
		c.out.blockedCaps.add(found)
	}
}

// suggestFactor ends a sentence about a name that is not a factor with what it can
// have been meant for. A capability's name that stands alone, or behind another
// word, was meant for that capability.
func suggestFactor(name string) string {
	if found := parseCapability(name[strings.LastIndexByte(name, ':')+1:]); found != otherCapability {
		return "; did you mean " + capabilityFactors[found] + "?"
	}
	candidates := make([]string, 0, int(numFactors)+len(capabilityFactors))
	for factor := range numFactors {
		candidates = append(candidates, factor.String())
	}
	return didYouMean(name, append(candidates, capabilityFactors[:]...))
}

func withoutCAP(name string) string {
	if len(name) > 4 && strings.EqualFold(name[:4], "CAP_") {
		return name[4:]
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
