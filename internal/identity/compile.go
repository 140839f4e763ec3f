package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// KindSource is the kind in problems about sources.
const KindSource = "IdentitySource"

// MaxCache is the longest that a permission may be taken to hold.
const MaxCache = 300 * time.Second

// Set is an immutable, compiled set of sources, with an index for each way that a
// value is read. A nil Set has no source.
type Set struct {
	byKey map[string]*identitySource
	// Each list is in the order of keys.
	annotations []*identitySource
	accounts    []*identitySource
	drivers     map[string][]*identitySource // by the driver in lower case
	audiences   map[string][]*identitySource
	signers     map[string][]*identitySource
	fields      map[schema.GroupKind][]kindSource
}

// identitySource is a compiled IdentitySource.
type identitySource struct {
	name, key    string
	form         v1alpha1.IdentityReviewForm
	cacheFor     time.Duration
	subresources []string
	// annotation of the pod or of the service account.
	annotation string
	// attribute of the CSI volume; empty: the service account.
	attribute string
}

// kindSource reads an object of a custom kind for one source.
type kindSource struct {
	*identitySource
	lookups []pod.Lookup
	// account is set where the lookups lead to the name of a service account.
	account bool
}

// Compile compiles sources. The set holds every one that can do what it says; the
// problems say of the others why they are not in it. Of sources with one key the
// first is used: one of a file before one of the API server, then the oldest, of
// those of one age the first by name.
func Compile(sources []source.Of[*v1alpha1.IdentitySource]) (*Set, source.Problems) {
	ordered := slices.Clone(sources)
	// What a file says counts before what the API server holds, whatever its age.
	stored := func(s *source.Of[*v1alpha1.IdentitySource]) int {
		if s.Origin == "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ordered, func(a, b source.Of[*v1alpha1.IdentitySource]) int {
		return cmp.Or(
			cmp.Compare(stored(&a), stored(&b)),
			a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
			cmp.Compare(a.Object.Name, b.Object.Name))
	})
	c := &compiler{
		names: map[string]string{}, holders: map[string]*v1alpha1.IdentitySource{},
		set: &Set{
			byKey: map[string]*identitySource{}, drivers: map[string][]*identitySource{}, audiences: map[string][]*identitySource{},
			signers: map[string][]*identitySource{}, fields: map[schema.GroupKind][]kindSource{},
		},
	}
	for _, s := range ordered {
		c.take(s)
	}
	c.set.order()
	return c.set, c.problems
}

type compiler struct {
	set      *Set
	problems source.Problems
	// names are the origins of the sources by name, and holders who has a key.
	names   map[string]string
	holders map[string]*v1alpha1.IdentitySource
}

// take compiles one source and puts it into the set if it can work.
func (c *compiler) take(s source.Of[*v1alpha1.IdentitySource]) {
	problem := source.Problem{Origin: s.Origin, Kind: KindSource, Name: s.Object.Name}
	if first, twice := c.names[s.Object.Name]; twice {
		c.problems = append(c.problems, problem.Twice(first))
		return
	}
	c.names[s.Object.Name] = s.Origin
	at := field.NewPath("spec")
	compiled, kinds, errs := compileSource(s.Object, at)
	if holder := c.holders[s.Object.Spec.Key]; holder != nil {
		errs = append(errs, field.Invalid(at.Child("key"), s.Object.Spec.Key,
			fmt.Sprintf("is the key of IdentitySource %s, which came first and is the one that works; give this one another key or remove it", holder.Name)))
	}
	for _, err := range errs {
		problem.Path, problem.Detail = err.Field, err.ErrorBody()
		c.problems = append(c.problems, problem)
	}
	if len(errs) > 0 {
		return
	}
	c.holders[compiled.key] = s.Object
	c.set.add(&s.Object.Spec, compiled, kinds)
}

// compileSource compiles a source.
func compileSource(s *v1alpha1.IdentitySource, at *field.Path) (compiled *identitySource, kinds []kindOf, errs field.ErrorList) {
	defer source.Recovered(&errs)
	compiled, errs = compileCommon(s, at)
	kinds, more := compileWay(&s.Spec, compiled, at)
	return compiled, kinds, append(errs, more...)
}

// compileCommon compiles what every source has.
func compileCommon(s *v1alpha1.IdentitySource, at *field.Path) (*identitySource, field.ErrorList) {
	spec := &s.Spec
	compiled := &identitySource{
		name: s.Name, key: spec.Key, form: cmp.Or(spec.ReviewForm, v1alpha1.ReviewValidatedAnnotation),
		cacheFor: time.Duration(spec.CacheSeconds) * time.Second, subresources: Always,
	}
	var errs field.ErrorList
	if compiled.form != v1alpha1.ReviewValidatedAnnotation && compiled.form != v1alpha1.ReviewResource {
		errs = append(errs, field.NotSupported(at.Child("reviewForm"), spec.ReviewForm,
			[]v1alpha1.IdentityReviewForm{v1alpha1.ReviewValidatedAnnotation, v1alpha1.ReviewResource}))
	}
	if spec.Key == "" {
		errs = append(errs, field.Required(at.Child("key"), "an identity needs a key, such as kerberos"))
	} else if fault := faultOfKey(spec.Key, compiled.form); fault != "" {
		errs = append(errs, field.Invalid(at.Child("key"), spec.Key, fault))
	}
	if spec.CacheSeconds < 0 || compiled.cacheFor > MaxCache {
		errs = append(errs, field.Invalid(at.Child("cacheSeconds"), spec.CacheSeconds, fmt.Sprintf("must be between 0 and %d", int(MaxCache.Seconds()))))
	}
	if spec.Subresources == nil {
		return compiled, errs
	}
	compiled.subresources = spec.Subresources
	for i, s := range spec.Subresources {
		if !slices.Contains(Subresources, s) {
			errs = append(errs, field.NotSupported(at.Child("subresources").Index(i), s, Subresources))
		}
	}
	for _, s := range Always {
		if !slices.Contains(spec.Subresources, s) {
			errs = append(errs, field.Invalid(at.Child("subresources"), strings.Join(spec.Subresources, ", "),
				"must hold "+s+": an identity that it reaches is not protected"))
		}
	}
	return compiled, errs
}

// Always are the subresources that every source guards, and Subresources all that
// one can guard.
var (
	Always       = []string{"exec", "attach", "ephemeralcontainers"}
	Subresources = []string{"exec", "attach", "ephemeralcontainers", "portforward", "proxy"}
)

// add puts a source into the index of its way.
func (s *Set) add(spec *v1alpha1.IdentitySourceSpec, compiled *identitySource, kinds []kindOf) {
	s.byKey[compiled.key] = compiled
	switch {
	case spec.PodAnnotation != nil:
		s.annotations = append(s.annotations, compiled)
	case spec.ServiceAccount != nil:
		s.accounts = append(s.accounts, compiled)
	case spec.CSIVolume != nil:
		driver := strings.ToLower(spec.CSIVolume.Driver)
		s.drivers[driver] = append(s.drivers[driver], compiled)
	case spec.ProjectedToken != nil:
		s.audiences[spec.ProjectedToken.Audience] = append(s.audiences[spec.ProjectedToken.Audience], compiled)
	case spec.PodCertificate != nil:
		s.signers[spec.PodCertificate.SignerName] = append(s.signers[spec.PodCertificate.SignerName], compiled)
	}
	for _, k := range kinds {
		s.fields[k.kind] = append(s.fields[k.kind], kindSource{compiled, k.lookups, spec.ServiceAccount != nil})
	}
}

// order sorts the indexes, so that claims come in one order whatever the age of
// their sources.
func (s *Set) order() {
	byKey := func(a, b *identitySource) int { return cmp.Compare(a.key, b.key) }
	slices.SortFunc(s.annotations, byKey)
	slices.SortFunc(s.accounts, byKey)
	for _, index := range []map[string][]*identitySource{s.drivers, s.audiences, s.signers} {
		for _, list := range index {
			slices.SortFunc(list, byKey)
		}
	}
	for _, list := range s.fields {
		slices.SortFunc(list, func(a, b kindSource) int { return cmp.Compare(a.key, b.key) })
	}
}

// Len is how many sources the set holds.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.byKey)
}

// Holder is the name of the source that has a key; empty if none has.
func (s *Set) Holder(key string) string {
	if s == nil || s.byKey[key] == nil {
		return ""
	}
	return s.byKey[key].name
}

// Names are the names of the sources, in order.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	names := make([]string, 0, len(s.byKey))
	for _, src := range s.byKey {
		names = append(names, src.name)
	}
	slices.Sort(names)
	return names
}

// Kinds are the custom kinds that some source reads, in order.
func (s *Set) Kinds() []schema.GroupKind {
	if s == nil {
		return nil
	}
	kinds := make([]schema.GroupKind, 0, len(s.fields))
	for gk := range s.fields {
		kinds = append(kinds, gk)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return kinds
}

// Guarding keeps the claims whose identity a subresource of pods reaches.
func (s *Set) Guarding(subresource string, claims []Claim) []Claim {
	var kept []Claim
	for _, c := range claims {
		guarded := Always
		if s != nil && s.byKey[c.Key] != nil {
			guarded = s.byKey[c.Key].subresources
		}
		if slices.Contains(guarded, subresource) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Guards reports whether some source guards the subresource of pods.
func (s *Set) Guards(subresource string) bool {
	if slices.Contains(Always, subresource) {
		return true
	}
	if s != nil {
		for _, src := range s.byKey {
			if slices.Contains(src.subresources, subresource) {
				return true
			}
		}
	}
	return false
}
