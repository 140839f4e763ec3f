package contextgate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/text/fieldmask"
)

// View is the part of a resource that one read gets: which objects, and which of
// their fields. Views with the same Key show the same.
type View struct {
	resource  Resource
	grants    []*grant
	namespace string
	name      string
	labels    labels.Selector
	fields    fields.Selector
	mask      *fieldmask.Mask
	key       string
}

// narrow makes the view of a read: what it asks for, as far as it is granted. why
// says why nothing of it is.
func narrow(grants []*grant, r Resource, read *hostcall.Read) (v *View, why string, err error) {
	v = &View{resource: r, namespace: read.Namespace, name: read.Name}
	switch {
	case !r.Namespaced && read.Namespace != "" && read.Operation == hostcall.ListByNamespace:
		return nil, "", fmt.Errorf("%s cannot be listed by namespace: its objects are in none", r)
	case !r.Namespaced:
		v.namespace = ""
	case read.Operation == hostcall.GetResource && read.Namespace == "":
		return nil, "", fmt.Errorf("%s %q cannot be read without its namespace", r, read.Name)
	}
	if v.labels, err = labels.Parse(read.LabelSelector); err != nil {
		return nil, "", fmt.Errorf("label_selector %q cannot be read: %w", clip(read.LabelSelector), err)
	}
	if v.fields, err = fields.ParseSelector(read.FieldSelector); err != nil {
		return nil, "", fmt.Errorf("field_selector %q cannot be read: %w", clip(read.FieldSelector), err)
	}
	if len(read.FieldMasks) > 0 {
		if v.mask, err = fieldmask.Parse(read.FieldMasks); err != nil {
			return nil, "", fmt.Errorf("field_masks: %w", err)
		}
		v.mask = fieldmask.Union(v.mask, fieldmask.Identity())
	}
	for _, g := range grants {
		if g.may(r, v.namespace, v.name) {
			v.grants = append(v.grants, g)
		}
	}
	if len(v.grants) == 0 {
		return nil, "what was granted of it are " + describe(grants), nil
	}
	if why := v.peeks(); why != "" {
		return nil, why, nil
	}
	var keys []string
	for _, g := range v.grants {
		keys = append(keys, g.key)
	}
	slices.Sort(keys)
	v.key = fmt.Sprintf("%s %q %q %q %q %q %s", r.Version, v.namespace, v.name, v.labels.String(), v.fields.String(), v.mask.Paths(), keys)
	return v, "", nil
}

// peeks says which selector would find out what a field holds that was not
// granted.
func (v *View) peeks() string {
	hidden := func(path ...string) bool {
		return slices.ContainsFunc(v.grants, func(g *grant) bool { return !g.mask.Allows(path...) })
	}
	requirements, _ := v.labels.Requirements()
	for _, requirement := range requirements {
		if hidden("metadata", "labels", requirement.Key()) {
			return fmt.Sprintf("the label selector asks for metadata.labels['%s'], which is not among the fields that were granted", requirement.Key())
		}
	}
	for _, requirement := range v.fields.Requirements() {
		path, err := fieldmask.Split(requirement.Field)
		if err != nil || hidden(path...) {
			return fmt.Sprintf("the field selector asks for %s, which is not among the fields that were granted", clip(requirement.Field))
		}
	}
	return ""
}

func describe(grants []*grant) string {
	var parts []string
	for _, g := range grants {
		var of []string
		if len(g.Names) > 0 {
			of = append(of, "the objects "+strings.Join(g.Names, ", "))
		}
		if len(g.Namespaces) > 0 {
			of = append(of, "the namespaces "+strings.Join(g.Namespaces, ", "))
		}
		parts = append(parts, strings.Join(of, " in "))
	}
	return strings.Join(parts, "; ")
}

// Key tells views apart that show different things.
func (v *View) Key() string { return v.key }

// Namespace is the one namespace that is read; empty for all.
func (v *View) Namespace() string { return v.namespace }

// Name is the one object that is read; empty for a list.
func (v *View) Name() string { return v.name }

// Object is what has to be known of an object to say whether it is shown.
type Object interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
	// Field gives the scalar at a path, and an empty string where there is none.
	Field(path []string) string
}

// Show reports whether an object is part of the view, and with which fields. It
// is hidden if it was asked for and no grant covers it.
func (v *View) Show(o Object) (mask *fieldmask.Mask, shown, hidden bool) {
	namespace, name := o.GetNamespace(), o.GetName()
	if v.namespace != "" && namespace != v.namespace || v.name != "" && name != v.name {
		return nil, false, false
	}
	set := labels.Set(o.GetLabels())
	for _, g := range v.grants {
		// An object without a name or namespace is in none of those that are listed.
		if len(g.Names) > 0 && !slices.Contains(g.Names, name) ||
			len(g.Namespaces) > 0 && !slices.Contains(g.Namespaces, namespace) || !g.selector.Matches(set) {
			continue
		}
		if shown {
			mask = fieldmask.Union(mask, g.mask)
		} else {
			mask, shown = g.mask, true
		}
	}
	if !shown {
		return nil, false, true
	}
	if !v.labels.Matches(set) || !v.fields.Empty() && !v.matches(o) {
		return nil, false, false
	}
	return fieldmask.Intersect(mask, v.mask), true, false
}

func (v *View) matches(o Object) bool {
	set := fields.Set{}
	for _, requirement := range v.fields.Requirements() {
		path, err := fieldmask.Split(requirement.Field)
		if err != nil {
			return false
		}
		set[requirement.Field] = o.Field(path)
	}
	return v.fields.Matches(set)
}
