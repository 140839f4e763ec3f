package identityrule

import (
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// brokenIdentity answers for an IdentitySource that cannot work.
type brokenIdentity struct {
	*stored.Broken
	// carried finds the pods that carry what the source would read.
	carried *Sources
}

// ways are the fields that say where an identity is read.
var ways = []string{"podAnnotation", "serviceAccount", "csiVolume", "projectedToken", "podCertificate", "field"}

// ForBroken reads where the source would find an identity. Where that cannot
// be read, it is taken to be the service account, which every pod has.
func ForBroken(b *stored.Broken) *brokenIdentity {
	spec, _ := b.Spec()
	source := v1alpha1.IdentitySource{Spec: v1alpha1.IdentitySourceSpec{
		Key: "unreadable", ReviewForm: v1alpha1.ReviewValidatedAnnotation, Subresources: identity.Subresources,
	}}
	source.Name = b.Name
	if given, ok := spec["subresources"]; !ok {
		source.Spec.Subresources = nil
	} else if list, _ := stored.Strictly[[]string](given); guardable(list) {
		source.Spec.Subresources = list
	}
	known := append([]string{"key", "reviewForm", "subresources", "cacheSeconds"}, ways...)
	way := ""
	for _, name := range ways {
		if _, given := spec[name]; given {
			if way != "" {
				way = ""
				break
			}
			way = name
		}
	}
	if way != "" && stored.OnlyKnown(spec, known...) {
		read, ok := stored.Strictly[v1alpha1.IdentitySourceSpec](map[string]any{way: spec[way]})
		a := read.PodAnnotation
		if a != nil && a.Name == "" {
			a.Name = stored.TextIn(spec, "key")
		}
		// Without a key it is not known what the annotation is called.
		if ok && (a == nil || a.Name != "") {
			read.Key, read.ReviewForm, read.Subresources = source.Spec.Key, source.Spec.ReviewForm, source.Spec.Subresources
			if set := readingOnly(source, read); set != nil {
				b.Answers("whatever makes, changes or enters a pod that carries an identity by its %s", way)
				return &brokenIdentity{b, set}
			}
		}
	}
	b.Answers("whatever makes, changes or enters a pod, as it cannot be read where an identity of it stands")
	every := v1alpha1.IdentitySourceSpec{
		Key: "unreadable", ReviewForm: v1alpha1.ReviewValidatedAnnotation, Subresources: source.Spec.Subresources,
		ServiceAccount: &v1alpha1.ServiceAccountIdentity{},
	}
	return &brokenIdentity{b, readingOnly(source, every)}
}

// guardable reports whether a source that works can guard these subresources: all of
// them are known, and those that every source guards are among them.
func guardable(list []string) bool {
	without := func(all []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(all, s) }
	}
	return !slices.ContainsFunc(list, without(identity.Subresources)) && !slices.ContainsFunc(identity.Always, without(list))
}

// readingOnly is a set with only one source; nil if it cannot work.
func readingOnly(source v1alpha1.IdentitySource, spec v1alpha1.IdentitySourceSpec) *Sources {
	source.Spec = spec
	identities, problems := identity.Compile([]stored.Sourced[*v1alpha1.IdentitySource]{{Object: &source}})
	if len(problems) > 0 {
		return nil
	}
	return &Sources{Identity: identities}
}

// decideBrokenIdentities refuses whatever is about pods that carry an identity of a
// source that cannot work: nobody can tell who may act as it.
func (s *Sources) decideBrokenIdentities(c *call.Call, results []decision.Result) []decision.Result {
	for _, broken := range s.BrokenIdentities {
		set := *broken.carried
		set.Registry, set.Caches = s.Registry, s.Caches
		b := judgement{Call: c, set: &set, results: results, broken: broken.Broken}
		if err := b.judge(); err != nil {
			b.cannotTell()
		}
		results = b.results
	}
	return results
}

// cannotTell refuses the request, once, for a source that cannot work.
func (b *judgement) cannotTell() {
	if b.told {
		return
	}
	b.told = true
	result := b.result(b.broken.Name, RuleUse)
	result.FailClosed = true
	b.results = append(b.results, b.broken.Answer(result, ""))
}
