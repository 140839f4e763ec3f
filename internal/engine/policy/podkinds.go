package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// podKinds are what PodKinds add to the kinds that make pods.
type podKinds struct {
	// without is the registry that they are added to, and all is with them.
	without, all *pod.Registry
	// by names the PodKind that registers a kind.
	by map[schema.GroupKind]string
}

func newPodKinds(without *pod.Registry) podKinds {
	return podKinds{without: without, all: without, by: map[schema.GroupKind]string{}}
}

// add takes a PodKind, if all of it can work beside what is there.
func (k *podKinds) add(p *v1alpha1.PodKind) field.ErrorList {
	regs, errs := registrationsOf(p)
	spec := field.NewPath("spec")
	for i, kind := range p.Spec.Kinds {
		gk := schema.GroupKind{Group: p.Spec.Group, Kind: kind}
		if holder, taken := k.by[gk]; taken {
			errs = append(errs, field.Invalid(spec.Child("kinds").Index(i), kind, fmt.Sprintf("is registered by PodKind %s already; write the places into that one, or take the kind out of one of them", holder)))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	all, err := k.all.With(regs...)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("pods"), field.OmitValueType{}, "contradicts itself or what is known of the kind: "+strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	k.all = all
	for _, kind := range p.Spec.Kinds {
		k.by[schema.GroupKind{Group: p.Spec.Group, Kind: kind}] = p.Name
	}
	return nil
}

// tryOut adds a PodKind beside all others, in place of what it said before.
func (k *podKinds) tryOut(p *v1alpha1.PodKind, others []*v1alpha1.PodKind) field.ErrorList {
	beside := newPodKinds(k.without)
	for _, other := range others {
		if other.Name != p.Name {
			// What cannot work is not in the way.
			_ = beside.add(other)
		}
	}
	return beside.add(p)
}

// registrationsOf reads a PodKind. Each place is tried by itself first, so that the
// error names it.
func registrationsOf(p *v1alpha1.PodKind) ([]pod.Registration, field.ErrorList) {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	group, at := p.Spec.Group, spec.Child("group")
	switch faults := validation.IsDNS1123Subdomain(group); {
	case group == "":
		errs = append(errs, field.Required(at, "name the group of the kinds, such as argoproj.io, without a version"))
	case len(faults) > 0:
		errs = append(errs, field.Invalid(at, group, "is not a group such as argoproj.io, without a version"))
	case !strings.Contains(group, ".") || match.BuiltInGroup(group):
		errs = append(errs, field.Invalid(at, group, "is a group of Kubernetes itself; where pods stand in its kinds is known, and cannot be said otherwise"))
	case group == v1alpha1.GroupVersion.Group:
		errs = append(errs, field.Invalid(at, group, "is that of Sallyport's own kinds, which make no pods"))
	}
	if len(p.Spec.Kinds) == 0 {
		errs = append(errs, field.Required(spec.Child("kinds"), "name at least one kind, such as Workflow"))
	}
	seen := map[string]bool{}
	for i, kind := range p.Spec.Kinds {
		at := spec.Child("kinds").Index(i)
		switch faults := validation.IsDNS1035Label(strings.ToLower(kind)); {
		case len(faults) > 0:
			errs = append(errs, field.Invalid(at, kind, "is not a kind such as Workflow"))
		case strings.HasSuffix(kind, "List"):
			errs = append(errs, field.Invalid(at, kind, "is a list; lists are read by the kind of their items"))
		case seen[kind]:
			errs = append(errs, field.Duplicate(at, kind))
		}
		seen[kind] = true
	}
	if len(p.Spec.Pods) == 0 {
		errs = append(errs, field.Required(spec.Child("pods"), "name at least one place at which pods stand, such as path: spec.template"))
	}
	var places []pod.Registration
	for i := range p.Spec.Pods {
		reg, more := placeOf(&p.Spec.Pods[i], spec.Child("pods").Index(i))
		places, errs = append(places, reg), append(errs, more...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	var regs []pod.Registration
	for _, kind := range p.Spec.Kinds {
		for _, reg := range places {
			reg.Group, reg.Kind = group, kind
			regs = append(regs, reg)
		}
	}
	return regs, nil
}

// placeOf reads a place, which is tried with a kind of no consequence.
func placeOf(place *v1alpha1.PodPlace, at *field.Path) (pod.Registration, field.ErrorList) {
	reg := pod.Registration{Group: "example.com", Kind: "Tried", Paths: []string{place.Path}, Completed: place.Completed}
	if place.Path == "" {
		return reg, field.ErrorList{field.Required(at.Child("path"), "say where the pods stand, such as spec.template")}
	}
	switch place.Form {
	case "", v1alpha1.PodFormTemplate:
	case v1alpha1.PodFormSpec:
		reg.PodSpecOnly = true
	case v1alpha1.PodFormParts:
		if len(place.Parts) == 0 {
			return reg, field.ErrorList{field.Required(at.Child("parts"), "say which fields are which parts of a pod, such as {from: container, to: spec.containers}")}
		}
		for _, part := range place.Parts {
			reg.Parts = append(reg.Parts, pod.Part{From: part.From, To: part.To})
		}
	default:
		return reg, field.ErrorList{field.NotSupported(at.Child("form"), place.Form, []v1alpha1.PodForm{v1alpha1.PodFormTemplate, v1alpha1.PodFormSpec, v1alpha1.PodFormParts})}
	}
	if place.Form != v1alpha1.PodFormParts && len(place.Parts) > 0 {
		return reg, field.ErrorList{field.Forbidden(at.Child("parts"), "belongs to form Parts")}
	}
	if _, err := pod.NewRegistry(reg); err != nil {
		return reg, field.ErrorList{field.Invalid(at, place.Path, strings.TrimPrefix(err.Error(), "pods in Tried.example.com: "))}
	}
	return reg, nil
}

// Pods knows the kinds that make pods, those that PodKinds register among them.
func (s *Set) Pods() *pod.Registry {
	if s.Registry == nil {
		return pod.Default()
	}
	return s.Registry
}

// PodsWith are the kinds that make pods with those that PodKinds register, and what is
// wrong with these. The ones that cannot work are left out.
func PodsWith(known *pod.Registry, sources []stored.Sourced[*v1alpha1.PodKind]) (*pod.Registry, stored.Problems) {
	kinds, c := newPodKinds(known), newCompiling(false)
	each(&c, stored.KindPodKind, sources, func(_ stored.Ref, source stored.Sourced[*v1alpha1.PodKind]) field.ErrorList {
		return kinds.add(source.Object)
	})
	return kinds.all, c.problems
}

// podKindsInForce are the PodKinds that the set was made of.
func (s *Set) podKindsInForce() []*v1alpha1.PodKind {
	var all []*v1alpha1.PodKind
	for _, object := range s.first {
		if p, ok := object.(*v1alpha1.PodKind); ok {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.PodKind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// tryPodKinds says what is wrong with PodKinds that someone writes, beside those
// that are in force.
func (s *Set) tryPodKinds(sources *Sources) stored.Problems {
	var problems stored.Problems
	for _, source := range sources.PodKinds {
		id := stored.Ref{Kind: stored.KindPodKind, Name: source.Object.Name}
		problems = append(problems, id.Problems(source.Origin, s.kinds.tryOut(source.Object, s.podKindsInForce()))...)
	}
	return problems
}

// knownAlready warns of places that are known without the PodKind.
func (k *podKinds) knownAlready(p *v1alpha1.PodKind) []effect.Note {
	var warnings []effect.Note
	for i, kind := range p.Spec.Kinds {
		known := map[string]bool{}
		for _, reg := range k.without.Registered(schema.GroupKind{Group: p.Spec.Group, Kind: kind}) {
			for _, path := range reg.Paths {
				known[path] = true
			}
		}
		for _, place := range p.Spec.Pods {
			if known[place.Path] {
				warnings = append(warnings, effect.KnownAlready.Note(field.NewPath("spec", "kinds").Index(i),
					kind, place.Path, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
				break
			}
		}
	}
	return warnings
}
