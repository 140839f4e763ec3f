package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/source"
	"github.com/sallyport-io/sallyport/internal/text/wire"
)

// Broken is an object of the API server that cannot do what it says, and that no
// earlier version stands in for. It is never passed over: what it is about, as far
// as that can be read, is answered by its fail mode until it is mended. See
// docs/decisions/0016-broken-policies.md.
type Broken struct {
	Kind, Namespace, Name string
	// Problems are what is wrong with it.
	Problems Problems

	// object as it is stored; nil where even that cannot be read.
	object map[string]any
	// about says in words what is answered meanwhile, and open that it is let in.
	about []string
	open  bool
}

// brokenKinds are the kinds that are told of when they cannot work: those that
// restrict, and those that others need. What only excuses, or asks to be excused,
// then does nothing, and has a state of its own.
var brokenKinds = []string{
	KindDenyPolicy, KindClusterPolicy, KindPolicy, KindClusterAdmissionPolicy, KindAdmissionPolicy, KindPolicyServer, KindPodKind,
	identity.KindSource, pass.KindExceptionPolicy, breakglass.KindEscalation,
}

// NewBroken is an object as the API server gives it that cannot work; nil for the
// kinds that do nothing when they cannot.
func NewBroken(object *unstructured.Unstructured, problems Problems) *Broken {
	if !slices.Contains(brokenKinds, object.GetKind()) {
		return nil
	}
	return &Broken{
		Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Problems: problems, object: object.Object,
	}
}

// brokenOf is the same for an object that was decoded.
func brokenOf(id objectID, object any, problems Problems) *Broken {
	b := &Broken{Kind: id.kind, Namespace: id.namespace, Name: id.name, Problems: problems}
	if raw, err := json.Marshal(object); err == nil {
		b.object, _ = wire.Tree(raw)
	}
	return b
}

// Ref names the object.
func (b *Broken) Ref() PolicyRef { return PolicyRef{b.Kind, b.Namespace, b.Name} }

// Called is the object as sentences name it.
func (b *Broken) Called() string {
	if b.Namespace == "" {
		return b.Kind + " " + b.Name
	}
	return b.Kind + " " + b.Namespace + "/" + b.Name
}

// longestWhy bounds how much of what is wrong stands in an answer; the status of
// the object holds the whole.
const longestWhy = 200

// Why is what is wrong with it, shortened.
func (b *Broken) Why() string {
	if len(b.Problems) == 0 {
		return "it cannot be read"
	}
	text := decision.Clean(b.Problems[0].At())
	if len(text) > longestWhy {
		text = strings.ToValidUTF8(text[:longestWhy], "") + " ..."
	}
	if n := len(b.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Meanwhile says what is answered until it is mended.
func (b *Broken) Meanwhile() string {
	switch {
	case len(b.about) == 0:
		return "it does nothing until it is corrected"
	case b.open:
		return "until it is corrected or deleted, this is let in with a warning: " + strings.Join(b.about, "; ")
	}
	return "until it is corrected or deleted, this is refused: " + strings.Join(b.about, "; ")
}

// answers notes what is answered meanwhile.
func (b *Broken) answers(format string, args ...any) {
	b.about = append(b.about, fmt.Sprintf(format, args...))
}

// answer turns a result into what is said of a request that the object is about,
// and is the only place that does. The action of the result is kept: what is only
// to be recorded, or warned of, refuses nothing. open names what lets it in, where
// something does.
func (b *Broken) answer(result decision.Result, open string) decision.Result {
	result.Status, result.Remedy = decision.Error, decision.RemedyMend
	result.Message = "it cannot work as it is stored: " + b.Why()
	switch {
	case result.Action == decision.ActionAudit:
		result.Message += "; validationFailureAction Audit, or the mode monitor, lets the request through"
	case result.Action == decision.ActionWarn:
		result.Message += "; validationFailureAction Warn lets the request through"
	case open != "":
		result.Action = decision.ActionWarn
		result.Message += "; " + open + " lets the request through"
	default:
		result.Message += "; what it is about is refused until it is corrected or deleted"
	}
	return result
}

// Broken are the objects that cannot work and that no earlier version stands in
// for, by kind and name.
func (s *Set) Broken() []*Broken { return s.broken }

// insteadOf is the broken object of that name; nil if there is none.
func (s *Set) insteadOf(ref PolicyRef) *Broken {
	for _, b := range s.broken {
		if b.Ref() == ref {
			return b
		}
	}
	return nil
}

// exceptionPolicy reads what an ExceptionPolicy is about: all policies, where that
// cannot be read.
func (b *Broken) exceptionPolicy() pass.BrokenPolicy {
	spec, _ := b.spec()
	p := pass.BrokenPolicy{Name: b.Name, Policies: []string{anything}}
	if list, ok := stringsIn(spec["policies"]); ok && !slices.ContainsFunc(list, func(s string) bool { return strings.ContainsAny(s, " \t[]{}\\") || s == "" }) {
		p.Policies = list
	}
	if list, ok := stringsIn(spec["namespaces"]); ok {
		p.Namespaces = list
	}
	return p
}

// BrokenByKind counts them, with a zero for each kind that has none.
func (s *Set) BrokenByKind() map[string]int {
	counts := make(map[string]int, len(brokenKinds))
	for _, kind := range brokenKinds {
		counts[kind] = 0
	}
	for _, b := range s.broken {
		counts[b.Kind]++
	}
	return counts
}

// answerFor has broken objects answered for, those that others need after these.
func (s *Set) answerFor(broken []*Broken) {
	slices.SortStableFunc(broken, func(a, b *Broken) int {
		return cmp.Or(cmp.Compare(slices.Index(brokenKinds, a.Kind), slices.Index(brokenKinds, b.Kind)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, b := range broken {
		s.standIn(b)
	}
}

// tellOf adds the ExceptionPolicies and BreakglassEscalations that cannot work to
// what is told of; what follows from them is seen to where they are compiled.
func (s *Set) tellOf(lists ...Problems) {
	s.broken = slices.Clone(s.broken)
	for _, problems := range lists {
		for _, p := range problems {
			ref := PolicyRef{p.Kind, p.Namespace, p.Name}
			if p.Origin != "" || p.Kind != pass.KindExceptionPolicy && p.Kind != breakglass.KindEscalation {
				continue
			}
			if at := slices.IndexFunc(s.broken, func(b *Broken) bool { return b.Ref() == ref }); at >= 0 {
				more := *s.broken[at]
				more.Problems = append(more.Problems[:len(more.Problems):len(more.Problems)], p)
				s.broken[at] = &more
				continue
			}
			b := &Broken{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Problems: Problems{p}}
			if p.Kind == pass.KindExceptionPolicy {
				b.answers(exceptionsToIt)
			}
			s.broken = append(s.broken, b)
		}
	}
}

const exceptionsToIt = "exceptions to the policies that it names, each of which excuses nothing"

// refusedIdentities collects the sources that identity.Compile refused.
func (c *compiling) refusedIdentities(sources []Sourced[*v1alpha1.IdentitySource], problems Problems) {
	if !c.keep {
		return
	}
	for _, s := range sources {
		own := filter(problems, func(p Problem) bool { return p.Origin == s.Origin && p.Name == s.Object.Name })
		same := func(other Sourced[*v1alpha1.IdentitySource]) bool {
			return other.Object != s.Object && sameSpecs(other.Object, s.Object)
		}
		// What another says in the same words is in force.
		if s.Origin == "" && len(own) > 0 && !slices.ContainsFunc(sources, same) {
			c.broken = append(c.broken, brokenOf(objectID{kind: identity.KindSource, name: s.Object.Name}, s.Object, own))
		}
	}
}

// sameSpecs reports whether two objects of one kind say the same. What an annotation
// adds to the rules counts as well.
func sameSpecs(a, b metav1.Object) bool {
	for _, key := range autogenAnnotations {
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
		tree, err := wire.Tree(raw)
		if err != nil {
			return err
		}
		return tree["spec"]
	}
	return reflect.DeepEqual(spec(a), spec(b))
}

// standIn puts what answers for a broken object into the set. What cannot even be read
// for that is taken as if nothing of it could be.
func (s *Set) standIn(stored *Broken) {
	// Others may read what an earlier set says of it.
	own := *stored
	if errs := s.standInAsRead(&own); len(errs) > 0 {
		own = *stored
		own.object = nil
		s.standInAsRead(&own)
	}
	s.broken = append(s.broken, &own)
}

func (s *Set) standInAsRead(b *Broken) (errs field.ErrorList) {
	defer source.Recovered(&errs)
	switch b.Kind {
	case KindDenyPolicy:
		s.deny = append(s.deny, b.denyPolicy())
	case KindClusterPolicy, KindPolicy:
		s.rules.add(b.rules(s.pods))
	case KindClusterAdmissionPolicy, KindAdmissionPolicy:
		s.modules.all = append(s.modules.all, b.modulePolicy())
	case KindPodKind:
		s.rules.add(b.podKindRules())
	case KindPolicyServer:
		s.strand(b)
	case identity.KindSource:
		s.brokenIdentities = append(s.brokenIdentities, b.identitySource())
	case pass.KindExceptionPolicy:
		b.answers(exceptionsToIt)
	}
	return nil
}

// spared reports whether a request is left out by whatever answers for a broken
// object: objects of Sallyport and their definitions, or nobody could mend it.
func spared(r *request.Request) bool {
	return r.Resource.Group == v1alpha1.GroupVersion.Group || ownDefinition(r)
}

// ownDefinition reports whether a request is about the definition of one of
// Sallyport's kinds.
func ownDefinition(r *request.Request) bool {
	return r.Resource.Group == "apiextensions.k8s.io" && r.Resource.Resource == "customresourcedefinitions" &&
		strings.HasSuffix(r.Name, "."+v1alpha1.GroupVersion.Group)
}

// beside reports whether a request is left out where a broken object names no kinds
// or resources, or none that can be read: what only says how things are, and what
// keeps the cluster itself together.
func beside(r *request.Request) bool {
	switch r.Resource.Group {
	case "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io", eventsGroup:
		return true
	}
	return r.Subresource == "status" || r.Resource.Group == "" && r.Resource.Resource == "events"
}
