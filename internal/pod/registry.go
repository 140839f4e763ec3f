package pod

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/wire"
)

// Registration says where pods stand in the objects of a kind, in each of its
// versions. A path that an object does not have gives no pod; one that leads to
// something that is no pod is an error when the object is read.
type Registration struct {
	// Group of the API; empty for the core group.
	Group string `json:"group"`
	// Kind as in the objects, such as "Rollout".
	Kind string `json:"kind"`
	// Paths to pod templates, which hold metadata and spec: "spec.template",
	// "spec.tasks[*].template", "spec.replicaSpecs.*.template". "." stands for the
	// object itself.
	Paths []string `json:"paths"`
	// PodSpecOnly says that the paths lead to pod specs, with no metadata around
	// them.
	PodSpecOnly bool `json:"podSpecOnly,omitempty"`
}

// Registry knows which kinds make pods, and where the pods stand in them. It is
// never changed and safe for concurrent use.
type Registry struct {
	kinds map[schema.GroupKind]*node
	// folded finds kinds by their lower-case names, to tell a misspelt kind from
	// one that makes no pods.
	folded map[schema.GroupKind]schema.GroupKind
}

// NewRegistry makes a registry of the built-in kinds, which are always in it,
// and of regs. A kind may be registered more than once; its paths add up.
func NewRegistry(regs ...Registration) (*Registry, error) {
	trees := map[schema.GroupKind]*node{}
	for _, b := range builtin {
		if err := addTo(trees, b); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, reg := range regs {
		if err := validate(reg); err != nil {
			errs = append(errs, err)
		} else if err := addTo(trees, reg); err != nil {
			errs = append(errs, err)
		}
	}
	r := &Registry{kinds: map[schema.GroupKind]*node{}, folded: map[schema.GroupKind]schema.GroupKind{}}
	for gk, tree := range trees {
		root, err := merged([]*node{tree})
		if err != nil {
			errs = append(errs, fmt.Errorf("pods in %s: %w", gk, err))
			continue
		}
		setPlaces(root, "", true)
		r.kinds[gk] = root
		r.folded[fold(gk)] = gk
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// Default is the registry of the built-in kinds and of every shipped
// registration.
func Default() *Registry { return defaultRegistry }

var defaultRegistry = func() *Registry {
	r, err := NewRegistry(Shipped()...)
	if err != nil {
		// The shipped registrations are constants that the tests read.
		panic(err)
	}
	return r
}()

// Makes reports whether objects of the kind can hold pods.
func (r *Registry) Makes(gk schema.GroupKind) bool { return r.kinds[gk] != nil }

// builtin are the kinds of Kubernetes itself. ControllerRevision has a way of its
// own, see revision.go. The groups extensions and apps served the same shapes
// under older versions.
var builtin = []Registration{
	{Kind: "Pod", Paths: []string{"."}},
	{Kind: "PodTemplate", Paths: []string{"template"}},
	{Kind: "ReplicationController", Paths: []string{"spec.template"}},
	{Group: "apps", Kind: "ReplicaSet", Paths: []string{"spec.template"}},
	{Group: "apps", Kind: "Deployment", Paths: []string{"spec.template"}},
	{Group: "apps", Kind: "DaemonSet", Paths: []string{"spec.template"}},
	{Group: "apps", Kind: "StatefulSet", Paths: []string{"spec.template"}},
	{Group: "apps", Kind: "ControllerRevision", Paths: []string{"data.spec.template"}},
	{Group: "extensions", Kind: "ReplicaSet", Paths: []string{"spec.template"}},
	{Group: "extensions", Kind: "Deployment", Paths: []string{"spec.template"}},
	{Group: "extensions", Kind: "DaemonSet", Paths: []string{"spec.template"}},
	{Group: "batch", Kind: "Job", Paths: []string{"spec.template"}},
	{Group: "batch", Kind: "CronJob", Paths: []string{"spec.jobTemplate.spec.template"}},
}

// builtIn reports whether a kind is of Kubernetes itself. Its API server keeps only
// fields that it knows of those, but for what is raw in a ControllerRevision.
func builtIn(gk schema.GroupKind) bool {
	return slices.ContainsFunc(builtin, func(b Registration) bool { return groupKind(b) == gk })
}

func validate(reg Registration) error {
	for _, b := range builtin {
		if fold(groupKind(b)) == fold(groupKind(reg)) {
			return fmt.Errorf("pods in %s: the kind is built in and cannot be registered", groupKind(reg))
		}
	}
	switch {
	case reg.Kind == "" || strings.ContainsAny(reg.Kind, " ./*"):
		return fmt.Errorf("pods in %q: a kind such as %q belongs in the field kind", reg.Kind, "Rollout")
	case strings.HasSuffix(reg.Kind, "List"):
		return fmt.Errorf("pods in %s: lists are read by the kind of their items and cannot be registered", groupKind(reg))
	case strings.ContainsAny(reg.Group, " /*"):
		return fmt.Errorf("pods in %q: a group such as %q, without a version, belongs in the field group", reg.Group, "argoproj.io")
	case len(reg.Paths) == 0:
		return fmt.Errorf("pods in %s: no paths are given", groupKind(reg))
	}
	return nil
}

func addTo(trees map[schema.GroupKind]*node, reg Registration) error {
	gk := groupKind(reg)
	tree := trees[gk]
	if tree == nil {
		tree = &node{}
		trees[gk] = tree
	}
	l := template
	if reg.PodSpecOnly {
		l = specOnly
	}
	for _, text := range reg.Paths {
		p, err := parsePath(text)
		if err != nil {
			return fmt.Errorf("pods in %s: %w", gk, err)
		}
		if err := startsOutsideMetadata(p, l); err != nil {
			return fmt.Errorf("pods in %s: path %q: %w", gk, text, err)
		}
		if err := tree.add(p, l); err != nil {
			return fmt.Errorf("pods in %s: %w", gk, err)
		}
	}
	return nil
}

func startsOutsideMetadata(p path, l leaf) error {
	switch {
	case len(p) == 0 && l == specOnly:
		return errors.New("an object is not a pod spec")
	case len(p) == 0:
		return nil
	case p[0].kind == everyField:
		return errors.New("it begins with a wildcard and would take in the object's metadata")
	case p[0].name == "metadata" || p[0].name == "apiVersion" || p[0].name == "kind" || p[0].name == "items":
		return fmt.Errorf("no pods stand in %s", p[0].name)
	}
	return nil
}

// setPlaces writes the place of every node that no wildcard leads to.
func setPlaces(n *node, at string, known bool) {
	if known {
		n.at = at
	}
	for _, name := range n.fieldNames() {
		setPlaces(n.fields[name], wire.Child(at, name), known)
	}
	for i, child := range n.elements {
		setPlaces(child, wire.Element(at, i), known)
	}
	for _, child := range []*node{n.everyField, n.everyElement} {
		if child != nil {
			setPlaces(child, "", false)
		}
	}
}

func groupKind(reg Registration) schema.GroupKind {
	return schema.GroupKind{Group: reg.Group, Kind: reg.Kind}
}

func fold(gk schema.GroupKind) schema.GroupKind {
	return schema.GroupKind{Group: strings.ToLower(gk.Group), Kind: strings.ToLower(gk.Kind)}
}
