package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// filter is a compiled ResourceFilter: everything in it has to hold. A condition
// that is nil, or an entries without values, was not given.
type filter struct {
	place place

	operations operations
	kinds      []Kind
	// kindEntries, nameEntries and namespaceEntries are the lists as they are
	// written; names and namespaces the same compiled.
	kindEntries, nameEntries, namespaceEntries entries
	names, namespaces                          glob.List
	selector, namespaceSelector                *selector
	annotations                                []pair
	user                                       *userConditions
}

func isGiven(f *v1alpha1.ResourceFilter) bool {
	return f.Resources != nil || hasUserConditions(f) || f.Kind != nil || f.Name != nil || f.Namespace != nil
}

func hasUserConditions(f *v1alpha1.ResourceFilter) bool {
	return f.Subjects != nil || f.Roles != nil || f.ClusterRoles != nil
}

func compileFilter(source *v1alpha1.ResourceFilter, at *field.Path) (filter, field.ErrorList) {
	if !isGiven(source) {
		return filter{}, field.ErrorList{field.Required(at, "is empty and matches nothing; give resources, subjects, roles or clusterRoles")}
	}
	f, errs := compileResources(source, at)
	if hasUserConditions(source) {
		user, more := compileUserConditions(source, at)
		errs = append(errs, more...)
		f.user = user
	}
	return f, errs
}

// match reports whether the filter holds. What costs nothing to know is asked
// first, what has to be read last; an error stands only if nothing that is known
// makes the filter false.
func (f *filter) match(r *reading) (bool, error) {
	kind := f.matchKind(r)
	if !f.operations.match(r.Operation) || !kind && !f.mayMatchKind(r) ||
		f.nameEntries.given() && !f.names.Match(r.name()) ||
		!f.matchNamespace(r) {
		return false, nil
	}
	var unknown error
	if !kind {
		unknown = r.KindUnread
	}
	switch {
	case r.Unshown == nil:
		if f.selector != nil && !f.selector.match(r.Labels) || !matchPairs(f.annotations, r.Annotations) {
			return false, nil
		}
	case f.selector != nil || len(f.annotations) > 0:
		unknown = both(unknown, r.unshown())
	}
	if f.user != nil && r.User != nil && !f.user.matchSubject(r.User) {
		return false, nil
	}
	if f.namespaceSelector != nil {
		labels, err := r.namespaceLabels()
		if err == nil && !f.namespaceSelector.match(labels) {
			return false, nil
		}
		unknown = both(unknown, err)
	}
	if f.user != nil {
		ok, err := f.user.matchRoles(r)
		if err == nil && !ok {
			return false, nil
		}
		unknown = both(unknown, err)
	}
	return unknown == nil, unknown
}

func (f *filter) matchKind(r *reading) bool {
	if !f.kindEntries.given() {
		return true
	}
	for i := range f.kinds {
		if f.kinds[i].matches(r) {
			return true
		}
	}
	return false
}

// mayMatchKind reports whether the kind of the request, which could not be found out, may
// be one that is named.
func (f *filter) mayMatchKind(r *reading) bool {
	return r.KindUnread != nil && slices.ContainsFunc(f.kinds, func(k Kind) bool {
		return k.version.match(r.gvk.Version) && k.group.match(r.gvk.Group) && k.subresource.match(r.Subresource)
	})
}

// matchNamespace reports whether the namespace is one of those named. What is in
// no namespace is not in those that are asked for, by name or by labels.
func (f *filter) matchNamespace(r *reading) bool {
	if !f.namespaceEntries.given() && f.namespaceSelector == nil {
		return true
	}
	if r.Namespace == "" && !r.isNamespace() {
		return false
	}
	return !f.namespaceEntries.given() || f.namespaces.Match(r.namespace())
}

// operations is a set of operations; the zero set was not given and matches every
// one.
type operations uint8

// knownOperations are those of admission, in the order of their bits.
var knownOperations = []request.Operation{request.Create, request.Update, request.Delete, request.Connect}

func (o operations) match(operation request.Operation) bool {
	if o == 0 {
		return true
	}
	for i, known := range knownOperations {
		if operation == known {
			return o&(1<<i) != 0
		}
	}
	return false
}
