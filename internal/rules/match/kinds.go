package match

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Kind is a compiled entry of a list of kinds: Kind, version/Kind or
// group/version/Kind, each also with /subresource, each part with * and ?.
type Kind struct {
	group, version, kind, subresource part
}

// part is one part of an entry. The zero part is the empty name; any matches
// whatever there is.
type part struct {
	text         string
	any, pattern bool
}

func newPart(text string) part {
	return part{text: text, any: text != "" && strings.Trim(text, "*") == "", pattern: glob.IsPattern(text)}
}

func (p *part) match(name string) bool {
	switch {
	case p.any:
		return true
	case p.pattern:
		return glob.Match(p.text, name)
	}
	return p.text == name
}

// Exact returns the name of the kind if it is written without wildcards.
func (k *Kind) Exact() (string, bool) { return k.kind.text, !k.kind.pattern }

// Subresource returns the subresource as it is written, empty where the entry has
// none.
func (k *Kind) Subresource() string { return k.subresource.text }

// changesPods are the subresources by which the API server changes what a Pod is,
// and which carry the whole Pod: a container is added, or resources are given to
// one that runs. An update of the status belongs to them only as far as it changes
// labels or annotations; see Target.Relabels.
var changesPods = []string{"ephemeralcontainers", "resize"}

// statusSubresource is where the status of an object is written.
const statusSubresource = "status"

// Match reports whether the entry is about the subresource of a resource of the
// kind; subresource is empty for the resource itself. An entry without a
// subresource is about resources, and about the subresources that change Pods where
// it is about Pods.
func (k *Kind) Match(gvk schema.GroupVersionKind, subresource string) bool {
	if !k.isAbout(gvk) {
		return false
	}
	if k.subresource.text == "" {
		return subresource == "" || gvk.Kind == "Pod" && gvk.Group == "" && slices.Contains(changesPods, subresource)
	}
	return k.subresource.match(subresource)
}

// isAbout reports whether the entry is about a kind, whatever the subresource.
func (k *Kind) isAbout(gvk schema.GroupVersionKind) bool {
	return k.kind.match(gvk.Kind) && k.version.match(gvk.Version) && k.group.match(gvk.Group)
}

// matches reports whether the entry is about what a target is about. What changes
// labels or annotations on its way to the status, or to another subresource that is
// written as the whole object, is a change of the object too, whatever its kind.
func (k *Kind) matches(r *reading) bool {
	return k.Match(r.gvk, r.Subresource) ||
		r.Relabels && r.Subresource != "" && k.subresource.text == "" && k.isAbout(r.gvk)
}

// namesPods reports whether the entry is about the core kind Pod and nothing
// else, apart from its subresources.
func (k *Kind) namesPods() bool {
	return k.kind.text == "Pod" && k.group.match("") && k.version.match("v1")
}

// NamesVersion reports whether the entry is about some versions or groups only of what
// may be served by several.
func (k *Kind) NamesVersion() bool { return !k.version.any || !k.group.any }

// EveryVersion reports whether the entry is about a kind in whichever version.
func (k *Kind) EveryVersion() bool { return k.version.any }

// OnlyPods reports whether the entry is about the core kind Pod and nothing else,
// and not about a subresource that it names.
func (k *Kind) OnlyPods() bool { return k.namesPods() && k.subresource.text == "" }
