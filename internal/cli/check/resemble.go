package check

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// printResemblance warns, once a kind, of an object that no rule is about and that looks
// as if it held a pod: rules about Pods would hold for it if its kind were registered.
func (c *Checker) printResemblance(stderr io.Writer, r *request.Request) {
	gk := r.Kind.GroupKind()
	if r.Object == nil || c.resembling[gk] || c.Policies.Set.Pods().Makes(gk) || !strings.Contains(gk.Group, ".") ||
		match.BuiltInGroup(gk.Group) || gk.Group == "apiextensions.k8s.io" || gk.Group == v1alpha1.GroupVersion.Group {
		return
	}
	tree, err := r.Object.Tree()
	if err != nil {
		return
	}
	found := pod.Resembles(tree)
	if found == nil {
		return
	}
	if c.resembling == nil {
		c.resembling = map[schema.GroupKind]bool{}
	}
	c.resembling[gk] = true
	fmt.Fprintln(stderr, decision.Clean(fmt.Sprintf(
		"warning: %s: %s %s: %s looks like a container of a pod, but nothing says that %s makes pods, so that no rule about Pods holds for it. If it does, give with -p: %s",
		r.Source, gk.Kind, r.Name, found.Seen, gk, podKindFor(gk, &found.Place))))
}

// podKindFor writes the PodKind that registers a place, on one line.
func podKindFor(gk schema.GroupKind, place *pod.Registration) string {
	what := fmt.Sprintf("path: %q", place.Paths[0])
	switch {
	case place.PodSpecOnly:
		what += ", form: PodSpec"
	case len(place.Parts) > 0:
		what += ", form: Parts, parts: ["
		for i, part := range place.Parts {
			if i > 0 {
				what += ", "
			}
			what += fmt.Sprintf("{from: %q, to: %s}", part.From, part.To)
		}
		what += "]"
	}
	return fmt.Sprintf("{apiVersion: %s, kind: PodKind, metadata: {name: %s.%s}, spec: {group: %s, kinds: [%s], pods: [{%s}]}}",
		v1alpha1.GroupVersion, strings.ToLower(gk.Kind), gk.Group, gk.Group, gk.Kind, what)
}
