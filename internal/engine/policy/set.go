package policy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Set is an immutable, compiled set of policies. Requests read it without a
// lock. The zero Set decides nothing.
type Set struct {
	identityrule.Sources
	modulepolicy.Set
	// kinds are how the kinds that make pods came together.
	kinds podKinds
	rules clusterpolicy.Index
	// broken are what is stored and cannot work.
	broken []*stored.Broken
	// origins are where each policy was read from.
	origins map[stored.Ref]string
	// first are the policies themselves, of each name the first.
	first map[stored.Ref]metav1.Object
	// contexts are the policies that may read the cluster.
	contexts []*contextgate.Policy
	// filesOnly is set where nothing that an API server stores comes into force.
	filesOnly bool
	// foresee is that of Store.Foresee.
	foresee func(context.Context, *Set) []string
	// warnings say what a reader of a policy might get wrong.
	warnings stored.Problems
	// notes say what policies leave open beside what they guard.
	notes stored.Problems
	// labelReaders are what goes by the labels of namespaces.
	labelReaders *labelReaders
	// narrowed are the rules that go by namespaces.
	narrowed map[*clusterpolicy.Rule]*clusterpolicy.RuleReach
	// names has the names of policies and rules, and is made when they are first asked
	// for; nil where each look-up has to list them.
	names func() policyNames

	counts Counts
}

// Counts says what a Set holds.
type Counts struct {
	DenyPolicies, ClusterPolicies, Policies     int
	ClusterAdmissionPolicies, AdmissionPolicies int
	// IdentitySources are the sources of identities.
	IdentitySources int
	// Exceptions are those that can do what they say, approved requests among
	// them, valid or not.
	Exceptions int
}

// Counts returns how many policies of each kind the set holds.
func (s *Set) Counts() Counts { return s.counts }

// Empty reports whether the set holds no policy at all.
func (s *Set) Empty() bool { return s.counts == Counts{} }

// NeedsPowers reports whether some policy weighs what service accounts may do,
// and so needs the cluster's RBAC objects.
func (s *Set) NeedsPowers() bool {
	return slices.ContainsFunc(s.Deny, func(p *deny.Policy) bool { return p.Risk != nil && p.Risk.NeedsPowers() })
}

// Compile compiles policies. What it returns holds every policy that can work;
// problems names each that cannot, with all of its faults. pods says which kinds
// make pods beside those that PodKinds among the sources register, exceptions what these may do.
func Compile(sources Sources, pods *pod.Registry, exceptions exception.Options) (*Set, stored.Problems) {
	return compileWith(sources, pods, exceptions, newCache())
}

func compileWith(sources Sources, pods *pod.Registry, exceptions exception.Options, k *cache) (*Set, stored.Problems) {
	set, problems := compilePolicies(sources, pods, false, k)
	passes, more := exception.Compile(sources.Exceptions, exceptions)
	set = set.with(passes)
	var wrong stored.Problems
	set.Sessions, wrong = compileBreakglass(&sources, nil)
	set.warnings = append(set.warnings, escalationEffects(sources.Escalations)...)
	return set, slices.Concat(problems, more, wrong)
}

// with returns the set with other exceptions.
func (s *Set) with(passes *exception.Set) *Set {
	changed := *s
	changed.Excusing = passes
	changed.counts.Exceptions = passes.Len()
	return &changed
}

// compilePolicies compiles all but the exceptions. With answer, what is stored and
// cannot work is answered for. What is kept is not compiled again.
func compilePolicies(sources Sources, pods *pod.Registry, answer bool, k *cache) (*Set, stored.Problems) {
	set := &Set{}
	set.ByPoint, set.Servers = map[string][]*deny.Policy{}, map[string]bool{}
	k.begin()
	c := newCompiling(answer)
	// What makes pods comes first: the others go by it.
	k.readPodKinds(sources.PodKinds, pods)
	each(&c, stored.KindPodKind, sources.PodKinds, func(id stored.Ref, source stored.Sourced[*v1alpha1.PodKind]) field.ErrorList {
		made := k.podKind(source.Object)
		set.warnings = append(set.warnings, id.Said(source.Origin, made.warnings)...)
		return made.errs
	})
	set.kinds = k.podKinds.all
	pods = set.kinds.all
	set.Registry = pods
	each(&c, stored.KindDenyPolicy, sources.DenyPolicies, func(id stored.Ref, source stored.Sourced[*v1alpha1.DenyPolicy]) field.ErrorList {
		made := k.denyPolicy(source.Object)
		if len(made.errs) == 0 {
			// Its place is that in this set.
			own := *made.deny
			set.Deny = append(set.Deny, &own)
			set.say(id, source.Origin, made)
			set.counts.DenyPolicies++
		}
		return made.errs
	})
	each(&c, stored.KindClusterPolicy, sources.ClusterPolicies, func(id stored.Ref, source stored.Sourced[*v1alpha1.ClusterPolicy]) field.ErrorList {
		made := k.clusterPolicy(source.Object)
		errs := made.errsWith(pods)
		if len(errs) == 0 {
			set.take(id, source.Origin, made)
			set.counts.ClusterPolicies++
		}
		return errs
	})
	each(&c, stored.KindPolicy, sources.Policies, func(id stored.Ref, source stored.Sourced[*v1alpha1.Policy]) field.ErrorList {
		made := k.policy(source.Object)
		errs := made.errsWith(pods)
		if len(errs) == 0 {
			set.take(id, source.Origin, made)
			set.counts.Policies++
		}
		return errs
	})
	each(&c, stored.KindClusterAdmissionPolicy, sources.ClusterAdmissionPolicies, func(id stored.Ref, source stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]) field.ErrorList {
		o := source.Object
		made := k.module(o, &sources, id.Kind, &o.ObjectMeta, &o.Spec.AdmissionPolicySpec, &o.Spec)
		if len(made.errs) == 0 {
			set.Modules.All = append(set.Modules.All, made.module)
			set.say(id, source.Origin, made)
			set.counts.ClusterAdmissionPolicies++
		}
		return made.errs
	})
	each(&c, stored.KindAdmissionPolicy, sources.AdmissionPolicies, func(id stored.Ref, source stored.Sourced[*v1alpha1.AdmissionPolicy]) field.ErrorList {
		o := source.Object
		made := k.module(o, &sources, id.Kind, &o.ObjectMeta, &o.Spec, nil)
		if len(made.errs) == 0 {
			set.Modules.All = append(set.Modules.All, made.module)
			set.say(id, source.Origin, made)
			set.counts.AdmissionPolicies++
		}
		return made.errs
	})
	each(&c, stored.KindPolicyServer, sources.PolicyServers, func(id stored.Ref, source stored.Sourced[*v1alpha1.PolicyServer]) field.ErrorList {
		errs := modulepolicy.CheckPolicyServer(source.Object)
		if len(errs) == 0 {
			set.Servers[id.Name] = true
		}
		return errs
	})
	identities, more := identity.Compile(sources.Identities)
	set.Identity, set.counts.IdentitySources, set.Caches = identities, identities.Len(), &sync.Map{}
	c.refusedIdentities(sources.Identities, more)
	set.origins, set.first = c.seen, c.first
	set.keepIdentities(sources.Identities)
	set.answerFor(slices.Concat(sources.Broken, c.broken))
	set.order(k)
	set.names = sync.OnceValue(set.indexNames)
	k.end()
	return set, slices.Concat(c.problems, clusterconfig.Problems(sources.Clusters, ""), more)
}

// take adds the rules of a policy, and what is to be said of them.
func (s *Set) take(id stored.Ref, origin string, made *part) {
	s.rules.Add(made.rules.Rules)
	if made.rules.Context != nil {
		s.contexts = append(s.contexts, made.rules.Context)
	}
	s.say(id, origin, made)
}

// say adds what is to be said of a policy that can work.
func (s *Set) say(id stored.Ref, origin string, made *part) {
	s.warnings = append(s.warnings, id.Said(origin, made.warnings)...)
	said := id.Said(origin, made.notes)
	s.notes = append(s.notes, said...)
	// What is named and stands open is less than it looks.
	s.warnings = append(s.warnings, filter(said, func(p stored.Problem) bool { return p.Reason != "" })...)
}

// Effects say what in each object has less effect than it looks, as far as that can
// be known of the object itself.
func (s *Set) Effects() stored.Problems { return s.warnings }

// Notes say what policies leave open beside what they guard, and which doors they
// need. Nothing is wrong with them.
func (s *Set) Notes() stored.Problems { return s.notes }

// Identities are the sources of the identities that pods carry.
func (s *Set) Identities() *identity.Set { return s.Identity }

// Exceptions are the exceptions of the set.
func (s *Set) Exceptions() *exception.Set { return s.Excusing }

// Warnings say what a reader of a policy or of an exception might get wrong: it
// works, but does less than it may look.
func (s *Set) Warnings() stored.Problems {
	warnings := append(s.warnings[:len(s.warnings):len(s.warnings)], s.Excusing.Warnings()...)
	return slices.Concat(warnings, s.exceptionEffects(), s.StrayServers(), s.sessionWarnings())
}

// order sorts by precedence, then by name, and builds the indexes.
func (s *Set) order(k *cache) {
	slices.SortStableFunc(s.Deny, func(a, b *deny.Policy) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.Name, b.Name))
	})
	s.Index = &deny.Index{}
	for i, p := range s.Deny {
		p.Place = i
		if len(p.Rules) > 0 {
			s.Ruled = append(s.Ruled, p)
		}
		if p.Risk == nil {
			continue
		}
		for _, point := range deny.AccessPoints {
			if p.Risk.CoversPoint(point) {
				s.ByPoint[point] = append(s.ByPoint[point], p)
			}
		}
		if labels := p.Risk.ExemptLabels(); len(labels) > 0 {
			s.ExemptLabels = append(s.ExemptLabels, deny.ExemptLabels{Policy: p, Labels: labels})
		}
	}
	s.rules.Order()
	s.Modules.Order()
	s.readLabels(k)
}

// DecisionTimeout bounds a decision where the caller gives no shorter time: the
// API server waits ten seconds for an admission webhook unless told otherwise,
// and the answer must still travel.
const DecisionTimeout = 8 * time.Second
