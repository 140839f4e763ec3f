package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// compiling collects what is wrong with objects while they are compiled.
type compiling struct {
	// seen is where each object was read from.
	seen     map[objectID]string
	problems Problems
}

// each has the objects of a kind compiled, one of each name, and collects their
// problems.
func each[T metav1.Object](c *compiling, kind string, sources []Sourced[T], compile func(objectID, Sourced[T]) field.ErrorList) {
	for _, source := range sources {
		id := objectID{kind: kind, name: source.Object.GetName()}
		if kind == KindPolicy || kind == KindAdmissionPolicy {
			id.namespace = source.Object.GetNamespace()
		}
		if problem, twice := id.claim(c.seen, source.Origin); twice {
			c.problems = append(c.problems, problem)
			continue
		}
		if errs := compile(id, source); len(errs) > 0 {
			c.problems = append(c.problems, id.problems(source.Origin, errs)...)
		}
	}
}
