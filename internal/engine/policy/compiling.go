package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// compiling collects what is wrong with objects while they are compiled.
type compiling struct {
	// seen is where each object was read from.
	seen     map[stored.Ref]string
	problems stored.Problems
	// first are the objects that hold a name.
	first map[stored.Ref]metav1.Object
	// keep has what is stored and cannot work collected in broken.
	keep   bool
	broken []*stored.Broken
}

func newCompiling(keep bool) compiling {
	return compiling{seen: map[stored.Ref]string{}, first: map[stored.Ref]metav1.Object{}, keep: keep}
}

// refuse notes what is wrong with an object.
func (c *compiling) refuse(id stored.Ref, object metav1.Object, origin string, problems ...stored.Problem) {
	c.problems = append(c.problems, problems...)
	if c.keep && origin == "" {
		c.broken = append(c.broken, stored.NewBrokenOf(id, object, problems))
	}
}

// besideFiles are the kinds of which what is stored stays in force beside a file that has
// its name: their rules only refuse, so that both together let in nothing that one of
// them would not. The others are found by their names, and there can be one.
var besideFiles = []string{stored.KindDenyPolicy, stored.KindClusterPolicy, stored.KindPolicy}

const bothHold = "; until then both are in force, and what either refuses is refused"

// each has the objects of a kind compiled, one of each name, and collects their
// problems.
func each[T metav1.Object](c *compiling, kind string, sources []stored.Sourced[T], compile func(stored.Ref, stored.Sourced[T]) field.ErrorList) {
	for _, source := range sources {
		id := stored.Ref{Kind: kind, Name: source.Object.GetName()}
		if v1alpha1.Namespaced(kind) {
			id.Namespace = source.Object.GetNamespace()
		}
		if problem, twice := id.Claim(c.seen, source.Origin); twice {
			switch {
			case sameSpecs(c.first[id], source.Object):
				// What it says is in force, in the other's words.
				c.problems = append(c.problems, problem)
			case c.keep && source.Origin == "" && slices.Contains(besideFiles, kind):
				problem.Detail += bothHold
				if errs := recovered(id, source, compile); len(errs) > 0 {
					c.refuse(id, source.Object, source.Origin, append(id.Problems(source.Origin, errs), problem)...)
				} else {
					c.problems = append(c.problems, problem)
				}
			default:
				c.refuse(id, source.Object, source.Origin, problem)
			}
			continue
		}
		c.first[id] = source.Object
		if errs := recovered(id, source, compile); len(errs) > 0 {
			c.refuse(id, source.Object, source.Origin, id.Problems(source.Origin, errs)...)
		}
	}
}

func recovered[T metav1.Object](id stored.Ref, s stored.Sourced[T], compile func(stored.Ref, stored.Sourced[T]) field.ErrorList) (errs field.ErrorList) {
	defer source.Recovered(&errs)
	return compile(id, s)
}
