package policy

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// cache keeps what each policy was compiled to, so that of many only those are compiled
// again that have changed. It is not safe for concurrent use; the sets that come of it
// are. See docs/decisions/0040-compiled-once.md.
type cache struct {
	// parts are found by the object as it was decoded, which is another one as soon as
	// it says something else. used are those of the compiling that runs.
	parts, used map[metav1.Object]*part
	podKinds    cachedPodKinds
	reaches     cachedReaches
}

func newCache() *cache { return &cache{} }

// beside is for compiling some of the objects on their own.
func (k *cache) beside() *cache { return &cache{parts: k.parts} }

// add keeps what was compiled beside.
func (k *cache) add(beside *cache) {
	if k.parts == nil {
		k.parts = map[metav1.Object]*part{}
	}
	maps.Copy(k.parts, beside.parts)
}

// begin and end enclose a compiling of all that there is. What it does not come across
// is not kept.
func (k *cache) begin() { k.used = make(map[metav1.Object]*part, len(k.parts)) }

func (k *cache) end() {
	k.parts, k.used = k.used, nil
	k.reaches.of, k.reaches.used = k.reaches.used, nil
}

// part is what one policy was compiled to, by itself: nothing of it depends on other
// objects. Sets share it, and it is not changed.
type part struct {
	errs field.ErrorList
	// One of these, by the kind.
	deny   *deny.Policy
	rules  clusterpolicy.RulesOf
	module *modulepolicy.Policy
	// named is set for a module that was compiled to say itself what it is for.
	named bool
	// warnings say what a reader of it might get wrong, and notes what it leaves open.
	warnings, notes []effect.Note
}

// errsWith says what is wrong with rules where these kinds make pods.
func (p *part) errsWith(pods *pod.Registry) field.ErrorList {
	return slices.Concat(p.errs, clusterpolicy.NoMakers(p.rules.Makers, pods))
}

// part is what an object was compiled to; it is compiled if that is not kept.
func (k *cache) part(object metav1.Object, named bool, compile func(*part)) *part {
	made := k.parts[object]
	if made == nil || made.named != named {
		made = &part{named: named}
		made.compile(compile)
	}
	k.used[object] = made
	return made
}

func (p *part) compile(compile func(*part)) {
	defer source.Recovered(&p.errs)
	compile(p)
}

func (k *cache) denyPolicy(object *v1alpha1.DenyPolicy) *part {
	return k.part(object, false, func(made *part) {
		if made.deny, made.errs = deny.Compile(object); len(made.errs) == 0 {
			made.notes, made.warnings = made.deny.LeavesOpen(), made.deny.Effects(&object.Spec)
		}
	})
}

func (k *cache) clusterPolicy(object *v1alpha1.ClusterPolicy) *part {
	return k.part(object, false, func(made *part) {
		made.rules, made.errs = clusterpolicy.CompileClusterPolicy(object)
		made.ofRules()
	})
}

func (k *cache) policy(object *v1alpha1.Policy) *part {
	return k.part(object, false, func(made *part) {
		made.rules, made.errs = clusterpolicy.CompilePolicy(stored.KindPolicy, &object.ObjectMeta, &object.Spec, clusterpolicy.RulesOf{})
		made.ofRules()
	})
}

func (p *part) ofRules() {
	if len(p.errs) == 0 {
		p.warnings, p.notes = p.rules.Warnings, clusterpolicy.AtFrontDoor(p.rules.Rules)
	}
}

// module is the part of a policy that is a module. wide is nil for an AdmissionPolicy.
func (k *cache) module(object metav1.Object, sources *Sources, kind string, meta *metav1.ObjectMeta, spec *v1alpha1.AdmissionPolicySpec, wide *v1alpha1.ClusterAdmissionPolicySpec) *part {
	return k.part(object, sources.ModuleRules[spec], func(made *part) {
		if made.module, made.errs = sources.compileModule(kind, meta, spec, wide); len(made.errs) == 0 {
			made.notes, made.warnings = modulepolicy.ModulesAtFrontDoor(spec), append(modulepolicy.Idle(spec), made.module.Effects(spec, wide)...)
		}
	})
}

// cachedPodKinds are the kinds that make pods as they were last. They depend on each
// other and are few, so that all of them are kept, or none.
type cachedPodKinds struct {
	sources []stored.Sourced[*v1alpha1.PodKind]
	without *pod.Registry
	all     podKinds
	parts   map[*v1alpha1.PodKind]*part
}

// readPodKinds forgets what PodKinds came to if they are not the same as before.
func (k *cache) readPodKinds(sources []stored.Sourced[*v1alpha1.PodKind], without *pod.Registry) {
	last := &k.podKinds
	if last.without != without || !slices.Equal(last.sources, sources) {
		*last = cachedPodKinds{sources: slices.Clone(sources), without: without, all: newPodKinds(without), parts: map[*v1alpha1.PodKind]*part{}}
	}
}

// podKind adds a PodKind to the kinds that make pods, once.
func (k *cache) podKind(object *v1alpha1.PodKind) *part {
	made := k.podKinds.parts[object]
	if made == nil {
		made = &part{}
		made.compile(func(made *part) {
			if made.errs = k.podKinds.all.add(object); len(made.errs) == 0 {
				made.warnings = k.podKinds.all.knownAlready(object)
			}
		})
		k.podKinds.parts[object] = made
	}
	return made
}

// cachedReaches are how rules go by the labels of namespaces, with the kinds that make
// pods.
type cachedReaches struct {
	pods     *pod.Registry
	of, used map[*clusterpolicy.Rule]*cachedReach
}

type cachedReach struct {
	keys   match.LabelKeys
	weaker func(context.Context, *call.Relabelled) string
	// narrowed is set where the rule goes by namespaces at all.
	narrowed *clusterpolicy.RuleReach
}

func (k *cache) reachOf(r *clusterpolicy.Rule, pods *pod.Registry) *cachedReach {
	all := &k.reaches
	if all.pods != pods {
		all.pods, all.of = pods, nil
	}
	if all.used == nil {
		all.used = make(map[*clusterpolicy.Rule]*cachedReach, len(all.of))
	}
	made := all.of[r]
	if made == nil {
		reach := clusterpolicy.NewRuleReach(r, pods)
		made = &cachedReach{keys: reach.Keys(), weaker: reach.WeakerBy}
		if reach.Reach.GoesByNamespace() {
			made.narrowed = reach
		}
	}
	all.used[r] = made
	return made
}
