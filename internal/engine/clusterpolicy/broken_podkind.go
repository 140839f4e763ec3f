package clusterpolicy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// ForBrokenPodKind answer for a PodKind that cannot work: where the pods stand in its
// kinds is not known, so that nothing of these kinds is let in that is new.
func ForBrokenPodKind(b *stored.Broken) []*Rule {
	r := wideRule(b)
	r.Background = false
	spec, _ := b.Spec()
	group := stored.TextIn(spec, "group")
	kinds, _ := stored.StringsIn(spec["kinds"])
	// Without a group, or without kinds, the block does not compile.
	if !strings.ContainsAny(group, "*/? ") {
		names := make([]string, len(kinds))
		for i, kind := range kinds {
			names[i] = group + "/*/" + kind
		}
		filter := v1alpha1.ResourceFilter{Resources: &v1alpha1.ResourceDescription{Kinds: names}}
		if m, errs := match.Compile(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{filter}}, field.NewPath("match")); len(errs) == 0 {
			r.Match = m
			b.Answers("objects of group %s and kind %s that are created, or change more than their metadata and status, as it is not known where the pods stand in them", group, strings.Join(kinds, " or "))
			return []*Rule{r}
		}
	}
	b.Answers("objects of custom kinds that are created, or change more than their metadata and status, as it cannot be read which of them make pods")
	return []*Rule{r}
}

// SparesAsPodKind reports whether a request is left out by what answers for a PodKind
// that cannot work: the kinds of Kubernetes, of which it says nothing, what makes or
// changes no pods, and what was there before. The groups of Kubernetes' projects, which
// are those of custom kinds, end otherwise than its own or have more parts.
func SparesAsPodKind(b *stored.Broken, r *request.Request) bool {
	if b.Kind != stored.KindPodKind {
		return false
	}
	if !strings.Contains(r.Kind.Group, ".") || match.BuiltInGroup(r.Kind.Group) || r.Subresource != "" || r.Object == nil {
		return true
	}
	if r.Operation != request.Update || r.OldObject == nil {
		return r.Operation != request.Create && r.Operation != request.Update
	}
	same, err := call.SameBody(r.OldObject, r.Object)
	return err == nil && same
}
