// Package match says which requests a rule, an exemption or an exception is
// about.
package match

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// maxFilters bounds what a block costs: to compile, and for each request.
const maxFilters = 128

// Match is a compiled match or exclude block. It is never changed and safe for
// concurrent use. A nil Match is about nothing.
type Match struct {
	filters []filter
	// all is set where each filter has to hold, and not one of them.
	all bool
	// open is set where the block is about every resource.
	open bool
}

// Compile compiles a match or exclude block that stands at path. A block or a
// filter that is empty is an error, as is whatever can match nothing.
func Compile(m *v1alpha1.Match, path *field.Path) (*Match, field.ErrorList) {
	if isEmpty(m) {
		return nil, field.ErrorList{field.Required(path, "is empty and matches nothing; give any, all or resources")}
	}
	return compile(m, path)
}

// CompileOpen is Compile where an empty block, or none, stands for every
// resource, its subresources included.
func CompileOpen(m *v1alpha1.Match, path *field.Path) (*Match, field.ErrorList) {
	if isEmpty(m) {
		return &Match{open: true}, nil
	}
	return compile(m, path)
}

func isEmpty(m *v1alpha1.Match) bool {
	return m == nil || m.Any == nil && m.All == nil && !isGiven(&m.ResourceFilter)
}

func compile(m *v1alpha1.Match, path *field.Path) (*Match, field.ErrorList) {
	var errs field.ErrorList
	short := isGiven(&m.ResourceFilter)
	if m.Any != nil && m.All != nil {
		errs = append(errs, field.Forbidden(path.Child("all"), "cannot stand beside any: give one of them, or two rules"))
	}
	for _, list := range []struct {
		name    string
		filters []v1alpha1.ResourceFilter
	}{{"any", m.Any}, {"all", m.All}} {
		at := path.Child(list.name)
		if len(list.filters) > maxFilters {
			return nil, append(errs, field.TooMany(at, len(list.filters), maxFilters))
		}
		if list.filters != nil && short {
			errs = append(errs, field.Forbidden(at, "cannot stand beside a filter of the short form (resources, subjects, roles, clusterRoles, kind, name, namespace): move that one into the list"))
		}
		if list.filters != nil && len(list.filters) == 0 {
			errs = append(errs, field.Required(at, "an empty list matches nothing; give at least one filter"))
		}
	}
	compiled := &Match{all: m.All != nil}
	add := func(source *v1alpha1.ResourceFilter, place place) {
		f, more := compileFilter(source, place.in(path))
		f.place = place
		compiled.filters = append(compiled.filters, f)
		errs = append(errs, more...)
	}
	for i := range m.Any {
		add(&m.Any[i], place{list: "any", index: i})
	}
	for i := range m.All {
		add(&m.All[i], place{list: "all", index: i})
	}
	if short {
		add(&m.ResourceFilter, place{})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

// EachFilter calls visit with every filter of a block, the one of the short form
// among them, and with its path; path is that of the block.
func EachFilter(m *v1alpha1.Match, path *field.Path, visit func(*v1alpha1.ResourceFilter, *field.Path)) {
	visit(&m.ResourceFilter, path)
	for i := range m.Any {
		visit(&m.Any[i], path.Child("any").Index(i))
	}
	for i := range m.All {
		visit(&m.All[i], path.Child("all").Index(i))
	}
}

// place is where a filter stands in its block; the zero place is the block itself.
type place struct {
	list  string
	index int
}

func (p place) in(path *field.Path) *field.Path {
	if p.list == "" {
		return path
	}
	return path.Child(p.list).Index(p.index)
}

// Match reports whether the block is about the target. The error says that it
// could not be found out: the labels of the namespace or the roles of the user
// cannot be read, or, and then errors.Is finds ErrNoUser, it turns on a user and
// none is known. A filter that is false by what is known is false whatever else
// could not be read; where one of several filters is enough, one that holds makes
// it true. An error in reading counts for more than ErrNoUser where one filter
// would be enough, so that nobody takes a block that could hold for one that
// cannot be asked.
func (m *Match) Match(t *Target) (bool, error) {
	switch {
	case m == nil:
		return false, nil
	case m.open:
		return true, nil
	}
	r := reading{Target: t, gvk: t.kind()}
	if m.all {
		return m.matchAll(&r)
	}
	var unknown error
	for i := range m.filters {
		ok, err := m.filters[i].match(&r)
		switch {
		case ok:
			return true, nil
		case err != nil && (unknown == nil || errors.Is(unknown, ErrNoUser)):
			unknown = err
		}
	}
	return false, unknown
}

func (m *Match) matchAll(r *reading) (bool, error) {
	var unknown error
	for i := range m.filters {
		ok, err := m.filters[i].match(r)
		switch {
		case err != nil:
			unknown = both(unknown, err)
		case !ok:
			return false, nil
		}
	}
	return unknown == nil, unknown
}

// both joins two errors, one of which may be nil, and names the same one once.
func both(first, second error) error {
	switch {
	case first == nil:
		return second
	case second == nil || errors.Is(first, second):
		return first
	}
	return errors.Join(first, second)
}
