package holders

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// Runtime is a pod, or a workload whose pods are meant.
type Runtime struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// ServiceAccount that it runs as; empty where that is not known.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Node that it runs on; empty where it may be any.
	Node   string    `json:"node,omitempty"`
	Claims []Carried `json:"-"`
}

// Carried is a claim that stands in a pod or a workload.
type Carried struct {
	Claim
	// Path of the field that it was read from, and the IdentitySource that says so.
	// What the field of document "Validated Pod Annotations" says under a key that
	// no source has has no source.
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty"`
	// Fault says why nobody can be granted the claim.
	Fault  string          `json:"fault,omitempty"`
	Guards identity.Guards `json:"-"`
}

// FormOf is the form in which a source of identities asks.
func FormOf(form v1alpha1.IdentityReviewForm) Form {
	if form == v1alpha1.ReviewResource {
		return Resource
	}
	return Name
}

// Carry takes the claims over that set found.
func Carry(set *identity.Set, claims []identity.Claim) []Carried {
	carried := make([]Carried, len(claims))
	for i := range claims {
		c := &claims[i]
		carried[i] = Carried{
			Claim: Claim{Key: c.Key, Value: c.Value, Form: FormOf(c.Form)},
			Path:  c.Path, Source: c.Source, Fault: c.Fault, Guards: set.GuardsOf(c.Key),
		}
	}
	return carried
}

// Way is what somebody may do to reach a runtime.
type Way struct {
	// Way is its name, such as exec. Names do not change.
	Way  string `json:"way"`
	Says string `json:"says"`
	// Verbs, any of which is enough, and the resources that they are allowed on.
	Verbs     []string `json:"verbs"`
	Resources []string `json:"resources"`
	// Guarded: whoever does not hold the claims is refused at the doors when they
	// go this way, whatever RBAC allows.
	Guarded bool `json:"guarded"`
}

// String is such as "exec into it (create of pods/exec)".
func (w *Way) String() string {
	return w.Says + " (" + strings.Join(w.Verbs, ", ") + " of " + cut(w.Resources) + ")"
}

// Access is one rule by which somebody reaches a runtime, with all the ways that
// it opens.
type Access struct {
	Subject cluster.Subject `json:"subject"`
	Ways    []Way           `json:"ways"`
	// Guarded: every one of the ways is.
	Guarded bool             `json:"guarded"`
	Through *cluster.Through `json:"through,omitempty"`
}

// String is one line for people.
func (a *Access) String() string { return a.line(a.Ways) }

func (a *Access) line(ways []Way) string {
	words := make([]string, len(ways))
	for i := range ways {
		words[i] = ways[i].String()
	}
	line := a.Subject.String() + " may " + strings.Join(words, "; ")
	if a.Through == nil {
		return line + ": through no rule"
	}
	return line + ": " + a.Through.String()
}

// cut lists some and counts the rest.
func cut(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// Reached is who can reach a runtime.
type Reached struct {
	// Accesses in the order of subject, binding and rule, the group system:masters
	// first.
	Accesses []Access `json:"accesses"`
	// More counts those that were left out.
	More int `json:"more,omitempty"`
	// Missing are bindings whose role is not there.
	Missing []cluster.MissingRole `json:"missing,omitempty"`
}
