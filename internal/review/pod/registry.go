package pod

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Registration says where pods stand in the objects of a kind, in each of its
// versions. A path that an object does not have gives no pod; one that leads to
// something that is not a pod is an error when the object is read.
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
	// Completed says that whoever makes the pods adds to what stands there.
	Completed bool `json:"completed,omitempty"`
	// Parts say which parts of what the paths lead to are which of a pod, where that
	// is neither a template nor a spec.
	Parts []Part `json:"parts,omitempty"`
	// Resource of the kind, where it is not the plural that is usual.
	Resource string `json:"resource,omitempty"`
}

// Registry knows which kinds make pods, and where the pods stand in them. It is
// never changed and safe for concurrent use.
type Registry struct {
	kinds map[schema.GroupKind]*node
	// folded finds kinds by their lower-case names, to tell a misspelt kind from
	// one that makes no pods.
	folded map[schema.GroupKind]schema.GroupKind
	// registered are the registrations of each kind, except for the built-in ones.
	registered map[schema.GroupKind][]Registration
	// unsure has every kind taken for one that may make pods, see Unsure.
	unsure bool
}

// NewRegistry makes a registry of the built-in kinds, which are always in it,
// and of regs. A kind may be registered more than once; its paths add up.
func NewRegistry(regs ...Registration) (*Registry, error) { return bare.With(regs...) }

// bare is the registry of the built-in kinds.
var bare = func() *Registry {
	r := &Registry{kinds: map[schema.GroupKind]*node{}, folded: map[schema.GroupKind]schema.GroupKind{}}
	for _, b := range builtin {
		// These are constants that the tests read.
		if err := r.build(groupKind(b), []Registration{b}); err != nil {
			panic(err)
		}
	}
	return r
}()

// With is the registry with more registrations in it. The error names each that
// cannot work, by itself or beside what is there.
func (r *Registry) With(regs ...Registration) (*Registry, error) {
	more := &Registry{kinds: maps.Clone(r.kinds), folded: maps.Clone(r.folded), registered: maps.Clone(r.registered), unsure: r.unsure}
	if more.registered == nil {
		more.registered = map[schema.GroupKind][]Registration{}
	}
	var errs []error
	var changed []schema.GroupKind
	for _, reg := range regs {
		gk := groupKind(reg)
		if err := validate(reg); err != nil {
			errs = append(errs, err)
			continue
		}
		if right, known := more.folded[fold(gk)]; known && right != gk {
			errs = append(errs, fmt.Errorf("pods in %s: the kind is written %s", gk, right))
			continue
		}
		more.folded[fold(gk)] = gk
		// Registries do not share what is appended.
		more.registered[gk] = append(slices.Clip(more.registered[gk]), reg)
		if !slices.Contains(changed, gk) {
			changed = append(changed, gk)
		}
	}
	for _, gk := range changed {
		if err := more.build(gk, more.registered[gk]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return more, nil
}

// build makes the tree of a kind.
func (r *Registry) build(gk schema.GroupKind, regs []Registration) error {
	tree := &node{}
	for _, reg := range regs {
		if err := addTo(tree, reg); err != nil {
			return err
		}
	}
	root, err := merged([]*node{tree})
	if err != nil {
		return fmt.Errorf("pods in %s: %w", gk, err)
	}
	setPlaces(root, "", true)
	r.kinds[gk] = root
	r.folded[fold(gk)] = gk
	return nil
}

// Unsure is the registry as it is asked by whoever does not know yet what else is
// registered: each name may be that of a kind that makes pods.
func (r *Registry) Unsure() *Registry {
	unsure := *r
	unsure.unsure = true
	return &unsure
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
// fields that it knows of those, except for what is raw in a ControllerRevision.
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
	case reg.PodSpecOnly && len(reg.Parts) > 0:
		return fmt.Errorf("pods in %s: what the paths lead to is either a pod spec or has parts of a pod", groupKind(reg))
	case len(reg.Paths) == 0:
		return fmt.Errorf("pods in %s: no paths are given", groupKind(reg))
	}
	return nil
}

func addTo(tree *node, reg Registration) error {
	gk := groupKind(reg)
	l := leaf{form: template, completed: reg.Completed}
	if reg.PodSpecOnly {
		l.form = specOnly
	}
	if len(reg.Parts) > 0 {
		compiled, err := compileParts(reg.Parts)
		if err != nil {
			return fmt.Errorf("pods in %s: %w", gk, err)
		}
		l.form, l.parts = assembled, compiled
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
	case len(p) == 0 && l.form != template:
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
		setPlaces(n.fields[name], apijson.Child(at, name), known)
	}
	for i, child := range n.elements {
		setPlaces(child, apijson.Element(at, i), known)
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
