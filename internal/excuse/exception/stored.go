package exception

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Stored is a version of a PolicyException or ClusterPolicyException of an API server
// that is kept elsewhere. Of thousands of exceptions only what they are compiled to is
// needed while nothing changes; the objects take more than that.
type Stored struct {
	Kind, Namespace, Name string
	// Deleted is set for one that is there only until its finalizers are gone.
	Deleted bool
	// Read reads it: of its metadata its name, its UID, its annotations and when it was
	// made, by which it is compiled. It is called each time that the exception is compiled: once, and
	// again when rules about exceptions change.
	Read func() (*metav1.ObjectMeta, *v1alpha1.PolicyExceptionSpec, error)
}

// stored compiles an exception that is kept elsewhere. One that cannot be read any more
// excuses nothing.
func (c *compiler) stored(e *Stored) {
	c.exception(identity{e.Kind, e.Namespace, e.Name}, e, e.Deleted, "", func(made *part, id identity) {
		meta, spec, err := e.Read()
		if err != nil {
			made.errs = append(made.errs, field.InternalError(field.NewPath("spec"), err))
			return
		}
		c.compile(made, c.entryOf(made, id, meta, spec, ""))
	})
}
