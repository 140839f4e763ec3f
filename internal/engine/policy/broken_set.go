package policy

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Broken are the objects that cannot work and that no earlier version stands in
// for, by kind and name.
func (s *Set) Broken() []*stored.Broken { return s.broken }

// insteadOf is the broken object of that name; nil if there is none.
func (s *Set) insteadOf(ref stored.Ref) *stored.Broken {
	for _, b := range s.broken {
		if b.Ref() == ref {
			return b
		}
	}
	return nil
}

// exceptionPolicy reads what an ExceptionPolicy is about: all policies, where that
// cannot be read.
func exceptionPolicy(b *stored.Broken) exception.BrokenPolicy {
	spec, _ := b.Spec()
	p := exception.BrokenPolicy{Name: b.Name, Policies: []string{stored.Anything}}
	if list, ok := stored.StringsIn(spec["policies"]); ok && !slices.ContainsFunc(list, func(s string) bool { return strings.ContainsAny(s, " \t[]{}\\") || s == "" }) {
		p.Policies = list
	}
	if list, ok := stored.StringsIn(spec["namespaces"]); ok {
		p.Namespaces = list
	}
	return p
}

// BrokenByKind counts them, with a zero for each kind that has none.
func (s *Set) BrokenByKind() map[string]int {
	counts := make(map[string]int, len(stored.BrokenKinds))
	for _, kind := range stored.BrokenKinds {
		counts[kind] = 0
	}
	for _, b := range s.broken {
		counts[b.Kind]++
	}
	return counts
}

// answerFor has broken objects answered for, those that others need after these.
func (s *Set) answerFor(broken []*stored.Broken) {
	slices.SortStableFunc(broken, func(a, b *stored.Broken) int {
		return cmp.Or(cmp.Compare(slices.Index(stored.BrokenKinds, a.Kind), slices.Index(stored.BrokenKinds, b.Kind)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, b := range broken {
		s.standIn(b)
	}
}

// addBroken adds the ExceptionPolicies and BreakglassEscalations that cannot work to
// what is told of; what follows from them is seen to where they are compiled.
func (s *Set) addBroken(lists ...stored.Problems) {
	s.broken = slices.Clone(s.broken)
	for _, problems := range lists {
		for _, p := range problems {
			ref := stored.Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
			if p.Origin != "" || p.Kind != exception.KindExceptionPolicy && p.Kind != breakglass.KindEscalation {
				continue
			}
			if at := slices.IndexFunc(s.broken, func(b *stored.Broken) bool { return b.Ref() == ref }); at >= 0 {
				more := *s.broken[at]
				more.Problems = append(more.Problems[:len(more.Problems):len(more.Problems)], p)
				s.broken[at] = &more
				continue
			}
			b := &stored.Broken{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Problems: stored.Problems{p}}
			if p.Kind == exception.KindExceptionPolicy {
				b.Answers(exceptionsToIt)
			}
			s.broken = append(s.broken, b)
		}
	}
}

const exceptionsToIt = "exceptions to the policies that it names, each of which excuses nothing"

// refusedIdentities collects the sources that identity.Compile refused.
func (c *compiling) refusedIdentities(sources []stored.Sourced[*v1alpha1.IdentitySource], problems stored.Problems) {
	if !c.keep {
		return
	}
	for _, s := range sources {
		own := filter(problems, func(p stored.Problem) bool { return p.Origin == s.Origin && p.Name == s.Object.Name })
		same := func(other stored.Sourced[*v1alpha1.IdentitySource]) bool {
			return other.Object != s.Object && sameSpecs(other.Object, s.Object)
		}
		// What another says in the same words is in force.
		if s.Origin == "" && len(own) > 0 && !slices.ContainsFunc(sources, same) {
			c.broken = append(c.broken, stored.NewBrokenOf(stored.Ref{Kind: identity.KindSource, Name: s.Object.Name}, s.Object, own))
		}
	}
}

// sameSpecs reports whether two objects of one kind say the same. What an annotation
// adds to the rules counts as well.
func sameSpecs(a, b metav1.Object) bool {
	for _, key := range clusterpolicy.AutogenAnnotations {
		one, given := a.GetAnnotations()[key]
		other, also := b.GetAnnotations()[key]
		if given != also || one != other {
			return false
		}
	}
	spec := func(object any) any {
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		tree, err := apijson.Tree(raw)
		if err != nil {
			return err
		}
		return tree["spec"]
	}
	return reflect.DeepEqual(spec(a), spec(b))
}

// standIn puts what answers for a broken object into the set. What cannot even be read
// for that is taken as if nothing of it could be.
func (s *Set) standIn(stored *stored.Broken) {
	// Others may read what an earlier set says of it.
	own := *stored
	if errs := s.standInAsRead(&own); len(errs) > 0 {
		own = *stored
		own.Object = nil
		s.standInAsRead(&own)
	}
	s.broken = append(s.broken, &own)
}

func (s *Set) standInAsRead(b *stored.Broken) (errs field.ErrorList) {
	defer source.Recovered(&errs)
	switch b.Kind {
	case stored.KindDenyPolicy:
		s.Deny = append(s.Deny, deny.ForBroken(b))
	case stored.KindClusterPolicy, stored.KindPolicy:
		s.rules.Add(clusterpolicy.ForBroken(b, s.Registry))
	case stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy:
		s.Modules.All = append(s.Modules.All, modulepolicy.ForBroken(b))
	case stored.KindPodKind:
		s.rules.Add(clusterpolicy.ForBrokenPodKind(b))
	case stored.KindPolicyServer:
		s.Strand(b)
	case identity.KindSource:
		s.BrokenIdentities = append(s.BrokenIdentities, identityrule.ForBroken(b))
	case exception.KindExceptionPolicy:
		b.Answers(exceptionsToIt)
	}
	return nil
}
