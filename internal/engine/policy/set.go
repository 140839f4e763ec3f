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
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Set is an immutable, compiled set of policies. Requests read it without a
// lock. The zero Set decides nothing.
type Set struct {
	idSources
	moduleSet
	// kinds are how the kinds that make pods came together.
	kinds podKinds
	rules ruleIndex
	// broken are what is stored and cannot work.
	broken []*Broken
	// origins are where each policy was read from.
	origins map[objectID]string
	// first are the policies themselves, of each name the first.
	first map[objectID]metav1.Object
	// contexts are the policies that may read the cluster.
	contexts []*contextgate.Policy
	// filesOnly is set where nothing that an API server stores comes into force.
	filesOnly bool
	// foresee is that of Store.Foresee.
	foresee func(context.Context, *Set) []string
	// warnings say what a reader of a policy might get wrong.
	warnings Problems
	// notes say what policies leave open beside what they guard.
	notes Problems
	// labelReaders are what goes by the labels of namespaces.
	labelReaders *labelReaders
	// narrowed are the rules that go by namespaces.
	narrowed map[*rule]*ruleReach
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
	return slices.ContainsFunc(s.deny, func(p *denyPolicy) bool { return p.risk != nil && p.risk.NeedsPowers() })
}

// Compile compiles policies. What it returns holds every policy that can work;
// problems names each that cannot, with all of its faults. pods says which kinds
// make pods beside those that PodKinds among the sources register, exceptions what these may do.
func Compile(sources Sources, pods *pod.Registry, exceptions pass.Options) (*Set, Problems) {
	return compileWith(sources, pods, exceptions, newKept())
}

func compileWith(sources Sources, pods *pod.Registry, exceptions pass.Options, k *kept) (*Set, Problems) {
	set, problems := compilePolicies(sources, pods, false, k)
	passes, more := pass.Compile(sources.Passes, exceptions)
	set = set.with(passes)
	var wrong Problems
	set.breakglass, wrong = compileBreakglass(&sources, nil)
	set.warnings = append(set.warnings, escalationEffects(sources.Escalations)...)
	return set, slices.Concat(problems, more, wrong)
}

// with returns the set with other exceptions.
func (s *Set) with(passes *pass.Set) *Set {
	changed := *s
	changed.passes = passes
	changed.counts.Exceptions = passes.Len()
	return &changed
}

// compilePolicies compiles all but the exceptions. With answer, what is stored and
// cannot work is answered for. What is kept is not compiled again.
func compilePolicies(sources Sources, pods *pod.Registry, answer bool, k *kept) (*Set, Problems) {
	set := &Set{}
	set.byPoint, set.servers = map[string][]*denyPolicy{}, map[string]bool{}
	k.begin()
	c := newCompiling(answer)
	// What makes pods comes first: the others go by it.
	k.readPodKinds(sources.PodKinds, pods)
	each(&c, KindPodKind, sources.PodKinds, func(id objectID, source Sourced[*v1alpha1.PodKind]) field.ErrorList {
		made := k.podKind(source.Object)
		set.warnings = append(set.warnings, id.said(source.Origin, made.warnings)...)
		return made.errs
	})
	set.kinds = k.podKinds.all
	pods = set.kinds.all
	set.pods = pods
	each(&c, KindDenyPolicy, sources.DenyPolicies, func(id objectID, source Sourced[*v1alpha1.DenyPolicy]) field.ErrorList {
		made := k.denyPolicy(source.Object)
		if len(made.errs) == 0 {
			// Its place is that in this set.
			own := *made.deny
			set.deny = append(set.deny, &own)
			set.say(id, source.Origin, made)
			set.counts.DenyPolicies++
		}
		return made.errs
	})
	each(&c, KindClusterPolicy, sources.ClusterPolicies, func(id objectID, source Sourced[*v1alpha1.ClusterPolicy]) field.ErrorList {
		made := k.clusterPolicy(source.Object)
		errs := made.errsWith(pods)
		if len(errs) == 0 {
			set.take(id, source.Origin, made)
			set.counts.ClusterPolicies++
		}
		return errs
	})
	each(&c, KindPolicy, sources.Policies, func(id objectID, source Sourced[*v1alpha1.Policy]) field.ErrorList {
		made := k.policy(source.Object)
		errs := made.errsWith(pods)
		if len(errs) == 0 {
			set.take(id, source.Origin, made)
			set.counts.Policies++
		}
		return errs
	})
	each(&c, KindClusterAdmissionPolicy, sources.ClusterAdmissionPolicies, func(id objectID, source Sourced[*v1alpha1.ClusterAdmissionPolicy]) field.ErrorList {
		o := source.Object
		made := k.module(o, &sources, id.kind, &o.ObjectMeta, &o.Spec.AdmissionPolicySpec, &o.Spec)
		if len(made.errs) == 0 {
			set.modules.all = append(set.modules.all, made.module)
			set.say(id, source.Origin, made)
			set.counts.ClusterAdmissionPolicies++
		}
		return made.errs
	})
	each(&c, KindAdmissionPolicy, sources.AdmissionPolicies, func(id objectID, source Sourced[*v1alpha1.AdmissionPolicy]) field.ErrorList {
		o := source.Object
		made := k.module(o, &sources, id.kind, &o.ObjectMeta, &o.Spec, nil)
		if len(made.errs) == 0 {
			set.modules.all = append(set.modules.all, made.module)
			set.say(id, source.Origin, made)
			set.counts.AdmissionPolicies++
		}
		return made.errs
	})
	each(&c, KindPolicyServer, sources.PolicyServers, func(id objectID, source Sourced[*v1alpha1.PolicyServer]) field.ErrorList {
		errs := checkPolicyServer(source.Object)
		if len(errs) == 0 {
			set.servers[id.name] = true
		}
		return errs
	})
	identities, more := identity.Compile(sources.Identities)
	set.identities, set.counts.IdentitySources, set.caches = identities, identities.Len(), &sync.Map{}
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
func (s *Set) take(id objectID, origin string, made *part) {
	s.rules.add(made.rules.rules)
	if made.rules.context != nil {
		s.contexts = append(s.contexts, made.rules.context)
	}
	s.say(id, origin, made)
}

// say adds what is to be said of a policy that can work.
func (s *Set) say(id objectID, origin string, made *part) {
	s.warnings = append(s.warnings, id.said(origin, made.warnings)...)
	said := id.said(origin, made.notes)
	s.notes = append(s.notes, said...)
	// What is named and stands open is less than it looks.
	s.warnings = append(s.warnings, filter(said, func(p Problem) bool { return p.Reason != "" })...)
}

// Effects say what in each object has less effect than it looks, as far as that can
// be known of the object itself.
func (s *Set) Effects() Problems { return s.warnings }

// Notes say what policies leave open beside what they guard, and which doors they
// need. Nothing is wrong with them.
func (s *Set) Notes() Problems { return s.notes }

// Identities are the sources of the identities that pods carry.
func (s *Set) Identities() *identity.Set { return s.identities }

// Passes are the exceptions of the set.
func (s *Set) Passes() *pass.Set { return s.passes }

// Warnings say what a reader of a policy or of an exception might get wrong: it
// works, but does less than it may look.
func (s *Set) Warnings() Problems {
	warnings := append(s.warnings[:len(s.warnings):len(s.warnings)], s.passes.Warnings()...)
	return slices.Concat(warnings, s.exceptionEffects(), s.strayServers(), s.sessionWarnings())
}

// order sorts by precedence, then by name, and builds the indexes.
func (s *Set) order(k *kept) {
	slices.SortStableFunc(s.deny, func(a, b *denyPolicy) int {
		return cmp.Or(cmp.Compare(a.precedence, b.precedence), cmp.Compare(a.name, b.name))
	})
	s.index = &denyIndex{}
	for i, p := range s.deny {
		p.place = i
		if len(p.rules) > 0 {
			s.ruled = append(s.ruled, p)
		}
		if p.risk == nil {
			continue
		}
		for _, point := range AccessPoints {
			if p.risk.CoversPoint(point) {
				s.byPoint[point] = append(s.byPoint[point], p)
			}
		}
		if labels := p.risk.ExemptLabels(); len(labels) > 0 {
			s.exemptLabels = append(s.exemptLabels, exemptLabels{policy: p, labels: labels})
		}
	}
	s.rules.order()
	s.modules.order()
	s.readLabels(k)
}

// DecisionTimeout bounds a decision where the caller gives no shorter time: the
// API server waits ten seconds for an admission webhook unless told otherwise,
// and the answer must still travel.
const DecisionTimeout = 8 * time.Second
