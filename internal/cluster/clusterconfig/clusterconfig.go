// Package clusterconfig says whether ClusterConfigs can do what they say, each on
// its own and all together.
package clusterconfig

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Kind is that of a ClusterConfig.
const Kind = "ClusterConfig"

// DefaultKey is the key of a Secret where a ClusterConfig names none.
const DefaultKey = "value"

// name is what stands in a path and in policies without being quoted.
var name = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

const (
	maxName        = 253
	maxCommonNames = 64
)

// CheckName says why a name cannot be that of a cluster, a tenant or an
// environment; empty where it can.
func CheckName(text string) string {
	if len(text) > maxName || !name.MatchString(text) {
		return fmt.Sprintf("must be letters, digits, -, _ and ., begin and end with a letter or a digit, and have at most %d characters", maxName)
	}
	return ""
}

// ID is the name that the cluster is known by.
func ID(c *v1alpha1.ClusterConfig) string { return cmp.Or(c.Spec.ClusterID, c.Name) }

// Check lists what is wrong with a ClusterConfig on its own. One that stands in a
// file may leave out where its kubeconfig is.
func Check(c *v1alpha1.ClusterConfig, inFile bool) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	for _, one := range []struct{ field, value string }{
		{"clusterID", c.Spec.ClusterID}, {"tenant", c.Spec.Tenant}, {"environment", c.Spec.Environment},
	} {
		if one.value == "" {
			continue
		}
		if why := CheckName(one.value); why != "" {
			errs = append(errs, field.Invalid(spec.Child(one.field), one.value, why))
		}
	}
	switch ref := c.Spec.KubeconfigSecretRef; {
	case ref == nil && !inFile:
		errs = append(errs, field.Required(spec.Child("kubeconfigSecretRef"), "names the Secret with the kubeconfig that the cluster is read by"))
	case ref != nil && ref.Name == "":
		errs = append(errs, field.Required(spec.Child("kubeconfigSecretRef", "name"), "names the Secret"))
	}
	for i, door := range c.Spec.Doors {
		switch at := spec.Child("doors").Index(i); {
		case door != v1alpha1.DoorAdmission && door != v1alpha1.DoorAccess:
			errs = append(errs, field.NotSupported(at, door, []v1alpha1.ClusterDoor{v1alpha1.DoorAdmission, v1alpha1.DoorAccess}))
		case slices.Contains(c.Spec.Doors[:i], door):
			errs = append(errs, field.Duplicate(at, door))
		}
	}
	if c.Spec.Callers == nil {
		return errs
	}
	names := spec.Child("callers", "commonNames")
	if n := len(c.Spec.Callers.CommonNames); n > maxCommonNames {
		errs = append(errs, field.TooMany(names, n, maxCommonNames))
	}
	for i, one := range c.Spec.Callers.CommonNames {
		switch {
		case one == "":
			errs = append(errs, field.Invalid(names.Index(i), one, "no certificate is accepted by an empty name"))
		case strings.ContainsAny(one, "*?"):
			errs = append(errs, field.Invalid(names.Index(i), one, "is compared as it stands, and no pattern; write the whole name"))
		case slices.Contains(c.Spec.Callers.CommonNames[:i], one):
			errs = append(errs, field.Duplicate(names.Index(i), one))
		}
	}
	return errs
}

// Problems lists what is wrong with ClusterConfigs, each on its own and beside
// the others: of two with one name or one cluster, the later one is refused. own
// is the name of the server's own cluster, empty if it has none.
func Problems(all []source.Of[*v1alpha1.ClusterConfig], own string) source.Problems {
	var problems source.Problems
	names, ids := map[string]string{}, map[string]string{}
	for _, s := range all {
		problem := source.Problem{Origin: s.Origin, Kind: Kind, Name: s.Object.Name}
		if first, twice := names[s.Object.Name]; twice {
			problems = append(problems, problem.Twice(first))
			continue
		}
		names[s.Object.Name] = s.Origin
		errs := Check(s.Object, s.Origin != "")
		for _, err := range errs {
			problem.Path, problem.Detail = err.Field, err.ErrorBody()
			problems = append(problems, problem)
		}
		if len(errs) > 0 {
			continue
		}
		problem.Path = "spec.clusterID"
		id := Fold(ID(s.Object))
		if other, taken := ids[id]; taken {
			problem.Detail = fmt.Sprintf("%q is that of ClusterConfig %s too, upper and lower case alike; give one of them another", ID(s.Object), other)
			problems = append(problems, problem)
			continue
		}
		if own != "" && id == Fold(own) {
			problem.Detail = Taken(ID(s.Object))
			problems = append(problems, problem)
			continue
		}
		ids[id] = s.Object.Name
	}
	return problems
}

// Fold makes one of names that differ only in upper and lower case: of such, one
// would be taken for the other.
func Fold(id string) string { return strings.ToLower(id) }

// Taken says that a cluster cannot have the name of the server's own.
func Taken(id string) string {
	return fmt.Sprintf("%q is the name of the cluster that this server runs for (--cluster-name); give the other cluster another", id)
}

// Named finds the ClusterConfig of a cluster by its id; nil if there is none.
func Named(all []source.Of[*v1alpha1.ClusterConfig], id string) *v1alpha1.ClusterConfig {
	for _, s := range all {
		if ID(s.Object) == id {
			return s.Object
		}
	}
	return nil
}
