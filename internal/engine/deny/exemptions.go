package deny

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Exemptions are the labels that exempt pods from DenyPolicies in one cluster.
type Exemptions struct {
	labels []ExemptLabels
}

// CompileExemptions reads the labels of policies that hold in a cluster of that
// name. What cannot work exempts nothing.
func CompileExemptions(policies []v1alpha1.DenyPolicy, cluster string) *Exemptions {
	x := &Exemptions{}
	for i := range policies {
		compiled, errs := Compile(&policies[i])
		if len(errs) > 0 || compiled.Risk == nil || compiled.Action != decision.Enforce || !compiled.Scope.inCluster(cluster) {
			continue
		}
		if labels := compiled.Risk.ExemptLabels(); len(labels) > 0 {
			x.labels = append(x.labels, ExemptLabels{Policy: compiled, Labels: labels})
		}
	}
	return x
}

// Len is how many policies have such labels.
func (x *Exemptions) Len() int { return len(x.labels) }

// Exemption is one policy that pods of an object are exempt from.
type Exemption struct {
	// Policy is the DenyPolicy, and Labels those that exempt from it, as kubectl
	// writes them.
	Policy, Labels string
	// Stamp is the part of a mark that says that somebody was judged for them.
	Stamp string
}

// Of lists what pods in an object of the namespace are exempt from.
func (x *Exemptions) Of(key []byte, namespace string, o *pod.Object) []Exemption {
	var found []Exemption
	for i := range x.labels {
		if e := &x.labels[i]; e.carriedIn(o) {
			found = append(found, Exemption{e.Policy.Name, e.String(), identity.ExemptionSignature(key, namespace, e.Policy.Name, e.Labels)})
		}
	}
	return found
}
