package exception

import (
	"cmp"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/glob"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Options say what exceptions may do beyond their own namespace, and how they
// are counted.
type Options struct {
	// TrustedNamespaces whose exceptions may reach other namespaces, beside those
	// that ExceptionPolicies name.
	TrustedNamespaces []string
	// Began is when durations count from in objects of files, which hold no time
	// of creation. Zero: such a duration is refused.
	Began time.Time
	// Ledger counts uses; nil for not counting.
	Ledger *Ledger
	// Trial is set for an object that is being written: whether it is approved is
	// asked of whoever writes it, and said there.
	Trial bool
}

// Set is a compiled, immutable set of exceptions. The nil Set excuses nothing.
type Set struct {
	passes []*Exception
	// labelled are those of them that go by the labels of namespaces.
	labelled []*labelled
	index    index
	rules    *Rules
	states   map[identity]State
	// warnings say what holds longer than it may look.
	warnings []source.Problem
	// options, and the rules as they were read, are for trying an object out.
	options     Options
	rulesAsRead []source.Of[*v1alpha1.ExceptionPolicy]
	brokenRules []BrokenPolicy
}

// Options are what the set was compiled with.
func (s *Set) Options() Options {
	if s == nil {
		return Options{}
	}
	return s.options
}

// WithRules returns the sources with the rules about exceptions of the set, except
// for those that the sources hold themselves.
func (s *Set) WithRules(sources Sources) Sources {
	if s == nil {
		return sources
	}
	own := map[string]bool{}
	for _, p := range sources.ExceptionPolicies {
		own[p.Object.Name] = true
	}
	for _, p := range s.brokenRules {
		if !own[p.Name] {
			sources.Broken = append(sources.Broken[:len(sources.Broken):len(sources.Broken)], p)
		}
	}
	for _, p := range s.rulesAsRead {
		if !own[p.Object.Name] {
			sources.ExceptionPolicies = append(sources.ExceptionPolicies[:len(sources.ExceptionPolicies):len(sources.ExceptionPolicies)], p)
		}
	}
	return sources
}

// Rules are the rules about exceptions in the set.
func (s *Set) Rules() *Rules {
	if s == nil {
		return &Rules{}
	}
	return s.rules
}

// Any reports whether the set holds anything that can excuse, or say why it does
// not.
func (s *Set) Any() bool { return s != nil && len(s.index.byKey) > 0 }

// Len is how many exceptions the set holds, expired ones among them.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.passes)
}

// Warnings say what a reader of an exception might get wrong.
func (s *Set) Warnings() []source.Problem {
	if s == nil {
		return nil
	}
	return s.warnings
}

// Exceptions are all exceptions of the set, in order. They must not be changed.
func (s *Set) Exceptions() []*Exception {
	if s == nil {
		return nil
	}
	return s.passes
}

type identity struct{ kind, namespace, name string }

// compiler collects what a Set is made of.
type compiler struct {
	*Cache
	set      *Set
	problems source.Problems
	seen     map[identity]string
	// used are the parts that the Set is made of.
	used map[any]*part
	// void are exceptions that a rule about exceptions keeps from excusing.
	void []*Exception
}

// Compile compiles exceptions. The set holds every one that can do what it says;
// the problems say of the others why they have no effect.
func Compile(sources Sources, options Options) (*Set, source.Problems) {
	return NewCache(options).Compile(sources)
}

// Compile is the function of that name, for the options of the Kept. Objects that
// were in the last sources are not compiled again; the set is the same as if they were.
func (k *Cache) Compile(sources Sources) (*Set, source.Problems) {
	n := len(sources.Exceptions) + len(sources.ClusterExceptions) + len(sources.Stored) + len(sources.Requests) + len(sources.Responses)
	c := &compiler{
		Cache: k, seen: make(map[identity]string, n), used: make(map[any]*part, n),
		set: &Set{rules: &Rules{}, states: make(map[identity]State, n), options: k.options},
	}
	c.compileRules(sources.ExceptionPolicies, sources.Broken)
	for _, e := range sources.Exceptions {
		c.decoded(identity{KindException, e.Object.Namespace, e.Object.Name}, e.Object, &e.Object.ObjectMeta, &e.Object.Spec, e.Origin)
	}
	for _, e := range sources.ClusterExceptions {
		c.decoded(identity{KindClusterException, "", e.Object.Name}, e.Object, &e.Object.ObjectMeta, &e.Object.Spec, e.Origin)
	}
	for _, e := range sources.Stored {
		c.stored(e)
	}
	c.answered(sources.Requests, sources.Responses)
	k.parts = c.used
	slices.SortStableFunc(c.set.passes, func(a, b *Exception) int {
		return cmp.Or(cmp.Compare(a.Names.Kind, b.Names.Kind), cmp.Compare(a.Names.Namespace, b.Names.Namespace), cmp.Compare(a.Names.Name, b.Names.Name))
	})
	c.set.index = newIndex(slices.Concat(c.set.passes, c.void))
	for _, p := range c.set.passes {
		if p.labelled != nil {
			c.set.labelled = append(c.set.labelled, p.labelled)
		}
	}
	return c.set, c.problems
}

// compileRules compiles the rules about exceptions. As every exception goes by them,
// a change of one has all exceptions compiled again.
func (c *compiler) compileRules(policies []source.Of[*v1alpha1.ExceptionPolicy], broken []BrokenPolicy) {
	rules := make(map[*v1alpha1.ExceptionPolicy]rule, len(policies))
	for _, p := range policies {
		id := identity{KindExceptionPolicy, "", p.Object.Name}
		made, known := c.rules[p.Object]
		if !known {
			made.compiled, made.errs = compileExceptionPolicy(p.Object)
		}
		rules[p.Object] = made
		if c.take(id, p.Origin, made.errs) {
			c.set.rules.policies = append(c.set.rules.policies, made.compiled)
			c.set.rulesAsRead = append(c.set.rulesAsRead, p)
		} else {
			c.broken(&BrokenPolicy{Name: p.Object.Name, Policies: p.Object.Spec.Policies, Namespaces: p.Object.Spec.Namespaces})
		}
	}
	for i := range broken {
		c.broken(&broken[i])
	}
	slices.SortFunc(c.set.rules.policies, func(a, b *exceptionPolicy) int { return cmp.Compare(a.name, b.name) })
	c.rules = rules
	if c.changed(policies, broken) {
		c.parts = nil
	}
}

// BrokenPolicy is an ExceptionPolicy that cannot work, as far as it can be read.
type BrokenPolicy struct {
	Name string
	// Policies that it names.
	Policies []string
	// Namespaces that it is about; none: all.
	Namespaces []string
}

// broken has whatever an ExceptionPolicy would limit excused from nothing until it
// can work.
func (c *compiler) broken(p *BrokenPolicy) {
	c.set.brokenRules = append(c.set.brokenRules, *p)
	c.set.rules.policies = append(c.set.rules.policies, &exceptionPolicy{
		name: p.Name, broken: true, policies: p.Policies, spec: &v1alpha1.ExceptionPolicySpec{},
		namespaces: glob.NewList(p.Namespaces), everywhere: len(p.Namespaces) == 0,
	})
}

// take records the faults of an object and reports whether it has none and no
// other one of its kind has its name.
func (c *compiler) take(id identity, origin string, errs field.ErrorList) bool {
	problem := source.Problem{Origin: origin, Kind: id.kind, Namespace: id.namespace, Name: id.name}
	if first, taken := c.seen[id]; taken {
		c.problems = append(c.problems, problem.Twice(first))
		return false
	}
	c.seen[id] = origin
	for _, err := range errs {
		problem.Path, problem.Detail = err.Field, err.ErrorBody()
		c.problems = append(c.problems, problem)
	}
	if len(errs) > 0 {
		c.set.states[id] = State{Problem: errs.ToAggregate()}
	}
	return len(errs) == 0
}

// decoded compiles a PolicyException or a ClusterPolicyException.
func (c *compiler) decoded(id identity, object any, meta *metav1.ObjectMeta, spec *v1alpha1.PolicyExceptionSpec, origin string) {
	c.exception(id, object, meta.DeletionTimestamp != nil, origin, func(made *part, id identity) {
		c.compile(made, c.entryOf(made, id, meta, spec, origin))
	})
}

// exception adds what an exception comes to, compiled if it is not kept.
func (c *compiler) exception(id identity, key any, deleted bool, origin string, compile func(*part, identity)) {
	if c.ending(id, deleted) {
		return
	}
	made := c.part(key, nil, func(made *part) { compile(made, id) })
	c.include(made)
	if c.take(id, origin, made.errs) {
		for _, p := range made.passes {
			c.add(p)
		}
	}
}

// entryOf is what the one Pass of an exception is compiled from.
func (c *compiler) entryOf(made *part, id identity, meta *metav1.ObjectMeta, spec *v1alpha1.PolicyExceptionSpec, origin string) *entry {
	at := field.NewPath("spec")
	begins := meta.CreationTimestamp.Time
	if begins.IsZero() {
		if begins = c.options.Began; spec.Duration != "" {
			c.countedFromNow(made, id, origin, at.Child("duration"), spec.Duration)
		}
	}
	entry := &entry{
		id: id, meta: meta, rules: spec.Exceptions, rulesAt: at.Child("exceptions"),
		match: &spec.Match, matchAt: at.Child("match"), reason: spec.Reason, at: at, begins: begins,
		times:      times{duration: spec.Duration, expiresAt: spec.ExpiresAt, notBefore: spec.NotBefore, begins: begins},
		conditions: spec.Conditions, podSecurity: spec.PodSecurity,
		requester: meta.Annotations[v1alpha1.AnnotationCreatedBy], granted: true, file: origin != "", spec: spec,
	}
	if !entry.file {
		// A record that cannot be read approves nothing.
		if record, err := ReadApproval(meta); err == nil {
			entry.record = record
		}
	}
	if entry.requester != "" {
		entry.askedBy = []string{entry.requester}
	}
	return entry
}

// errEnding is why an object that was deleted has no effect, although a finalizer
// keeps it: whoever may add one could not be stopped otherwise.
var errEnding = errors.New("it was deleted, and is there only until its finalizers are gone")

// ending notes an object that was deleted.
func (c *compiler) ending(id identity, deleted bool) bool {
	if !deleted {
		return false
	}
	c.set.states[id] = State{Problem: errEnding}
	return true
}

// countedFromNow says that a duration of a file begins again each time it is read.
func (c *compiler) countedFromNow(made *part, id identity, origin string, at *field.Path, duration string) {
	if origin == "" || c.options.Began.IsZero() {
		return
	}
	note := effect.CountedFromNow.Note(at, duration)
	made.warnings = append(made.warnings, source.Problem{
		Origin: origin, Kind: id.kind, Namespace: id.namespace, Name: id.name, Path: at.String(), Detail: note.Detail, Reason: note.Rule.Reason,
	})
}

func (c *compiler) add(p *Exception) {
	c.set.passes = append(c.set.passes, p)
	id := identity{p.Names.Kind, p.Names.Namespace, p.Names.Name}
	state := c.set.states[id]
	state.Periods = append(state.Periods, p.Period)
	c.set.states[id] = state
}
