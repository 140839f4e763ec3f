package risk

import (
	"slices"
	"sort"
	"strings"
	"text/template"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

const subresourceEphemeral = "ephemeralcontainers"

// AccessPoints are the ways into a pod that a policy can name; nodes/proxy is a
// subresource of nodes, the others are of pods.
var AccessPoints = []string{"exec", "attach", "portforward", subresourceEphemeral, "proxy", "log", "nodes/proxy"}

// defaultSubresources are judged by a policy that names none.
var defaultSubresources = AccessPoints[:3]

// Rules are compiled PodSecurityRules. They are not changed once they are made
// and are safe for concurrent use.
type Rules struct {
	subresources []string
	scope        v1alpha1.RiskScope
	failOpen     bool

	weights           [numFactors]int
	weighed           factorSet
	capabilityWeights [numCapabilities]int
	weighedCaps       capabilitySet

	blocked     factorSet
	blockedCaps capabilitySet
	// exemptCaps do not count, whatever pods add.
	exemptCaps capabilitySet

	thresholds []threshold

	exemptNamespaces *match.Namespaces
	needsLabels      bool
	exemptLabels     map[string]string
}

// threshold is what a score up to most leads to.
type threshold struct {
	most   int
	action v1alpha1.RiskAction
	// reason is nil where none is given.
	reason *template.Template
}

// Covers reports whether the rules judge an access to a resource of the core API
// group, in the plural, by a subresource of it.
func (r *Rules) Covers(resource, subresource string) bool {
	point := subresource
	if resource != "pods" {
		point = resource + "/" + subresource
	} else if strings.ContainsRune(subresource, '/') {
		return false
	}
	return r.CoversPoint(point)
}

// CoversPoint reports the same of a subresource as a policy names it: one of
// pods, or nodes/proxy.
func (r *Rules) CoversPoint(point string) bool { return slices.Contains(r.subresources, point) }

// NeedsPowers reports whether a judgement needs to know what the pod's service
// account may do.
func (r *Rules) NeedsPowers() bool { return (r.weighed | r.blocked).has(PowerfulServiceAccount) }

// NeedsNamespaceLabels reports whether an exemption reads the labels of
// namespaces.
func (r *Rules) NeedsNamespaceLabels() bool { return r.needsLabels }

// LabelKeys are the labels of namespaces that exemptions go by.
func (r *Rules) LabelKeys() match.LabelKeys { return r.exemptNamespaces.LabelKeys() }

// FailOpen reports whether an access is allowed when the pod cannot be read.
func (r *Rules) FailOpen() bool { return r.failOpen }

// ExemptLabels are the labels that exempt a pod which carries all of them, nil
// where none do. The map must not be changed.
func (r *Rules) ExemptLabels() map[string]string { return r.exemptLabels }

// ExemptNamespace says whether the pods of a namespace are exempt, and why. It
// calls labels, for those of the namespace, only if the name does not decide, and
// returns its error: then nobody can tell.
func (r *Rules) ExemptNamespace(name string, labels func() (map[string]string, error)) (why string, exempt bool, err error) {
	exempt, err = r.exemptNamespaces.Select(name, labels)
	if err != nil || !exempt {
		return "", false, err
	}
	return "namespace " + name + " is exempt", true, nil
}

// ExemptPod says whether a pod is exempt by its labels, and why.
func (r *Rules) ExemptPod(labels map[string]string) (why string, exempt bool) {
	if len(r.exemptLabels) == 0 {
		return "", false
	}
	for key, value := range r.exemptLabels {
		if found, ok := labels[key]; !ok || found != value {
			return "", false
		}
	}
	keys := make([]string, 0, len(r.exemptLabels))
	for key := range r.exemptLabels {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	why = "a pod with label"
	for i, key := range keys {
		if i > 0 {
			why += " and"
		}
		why += " " + key + "=" + r.exemptLabels[key]
	}
	return why + " is exempt", true
}
