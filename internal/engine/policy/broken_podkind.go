package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// podKindRules answer for a PodKind that cannot work: where the pods stand in its
// kinds is not known, so that nothing of these kinds is let in that is new.
func (b *Broken) podKindRules() []*rule {
	r := b.wideRule()
	r.background = false
	spec, _ := b.spec()
	group := textIn(spec, "group")
	kinds, _ := stringsIn(spec["kinds"])
	// Without a group, or without kinds, the block does not compile.
	if !strings.ContainsAny(group, "*/? ") {
		names := make([]string, len(kinds))
		for i, kind := range kinds {
			names[i] = group + "/*/" + kind
		}
		filter := v1alpha1.ResourceFilter{Resources: &v1alpha1.ResourceDescription{Kinds: names}}
		if m, errs := match.Compile(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{filter}}, field.NewPath("match")); len(errs) == 0 {
			r.match = m
			b.answers("objects of group %s and kind %s that are created, or change more than their metadata and status, as it is not known where the pods stand in them", group, strings.Join(kinds, " or "))
			return []*rule{r}
		}
	}
	b.answers("objects of custom kinds that are created, or change more than their metadata and status, as it cannot be read which of them make pods")
	return []*rule{r}
}

// sparesAsPodKind reports whether a request is left out by what answers for a PodKind
// that cannot work: the kinds of Kubernetes, of which it says nothing, what makes or
// changes no pods, and what was there before. The groups of Kubernetes' projects, which
// are those of custom kinds, end otherwise than its own or have more parts.
func (b *Broken) sparesAsPodKind(r *request.Request) bool {
	if b.Kind != KindPodKind {
		return false
	}
	if !strings.Contains(r.Kind.Group, ".") || match.BuiltInGroup(r.Kind.Group) || r.Subresource != "" || r.Object == nil {
		return true
	}
	if r.Operation != request.Update || r.OldObject == nil {
		return r.Operation != request.Create && r.Operation != request.Update
	}
	same, err := sameBody(r.OldObject, r.Object)
	return err == nil && same
}
