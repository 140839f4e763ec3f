package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// entries is a list of a filter as it is written, with the fields that lead to it
// from the filter.
type entries struct {
	fields []string
	values []string
	// single is set where the field holds one value, not a list.
	single bool
}

func (e *entries) given() bool { return e.values != nil }

// at returns the path of an entry; filter is that of the filter.
func (e *entries) at(filter *field.Path, i int) *field.Path {
	path := filter.Child(e.fields[0], e.fields[1:]...)
	if e.single {
		return path
	}
	return path.Index(i)
}

// short is the list of a field of the short form. Whether one value was written
// as a list is not known any more.
func short(name string, values v1alpha1.Strings) entries {
	return entries{fields: []string{name}, values: values, single: len(values) == 1}
}

// compileResources compiles what a filter says of the resource, in either form.
func compileResources(source *v1alpha1.ResourceFilter, at *field.Path) (filter, field.ErrorList) {
	var f filter
	var errs field.ErrorList
	resources := source.Resources
	if resources == nil {
		resources = &v1alpha1.ResourceDescription{}
	} else if isEmptyDescription(resources) {
		errs = append(errs, field.Required(at.Child("resources"), "is empty and matches nothing; name kinds, names, namespaces, annotations, selectors or operations"))
	}
	var one []string
	if resources.Name != "" {
		one = []string{resources.Name}
	}
	long := func(name string, values []string) entries {
		return entries{fields: []string{"resources", name}, values: values}
	}
	take := func(check func(string) error, forms ...entries) entries {
		list, more := choose(at, check, forms)
		errs = append(errs, more...)
		return list
	}

	f.kindEntries = take(func(entry string) error {
		kind, err := ParseKind(entry)
		f.kinds = append(f.kinds, kind)
		return err
	}, long("kinds", resources.Kinds), short("kind", source.Kind))
	f.nameEntries = take(checkNamePattern,
		entries{fields: []string{"resources", "name"}, values: one, single: true}, long("names", resources.Names), short("name", source.Name))
	f.names = glob.NewList(f.nameEntries.values)
	f.namespaceEntries = take(CheckNamespacePattern, long("namespaces", resources.Namespaces), short("namespace", source.Namespace))
	f.namespaces = glob.NewList(f.namespaceEntries.values)
	take(func(entry string) error {
		i := slices.Index(knownOperations, request.Operation(entry))
		if i < 0 {
			return unknownOperation(entry)
		}
		f.operations |= 1 << i
		return nil
	}, long("operations", resources.Operations))

	at = at.Child("resources")
	var more field.ErrorList
	if resources.Annotations != nil {
		f.annotations, more = compileAnnotations(resources.Annotations, at.Child("annotations"))
		errs = append(errs, more...)
	}
	if resources.Selector != nil {
		f.selector, more = compileSelector(resources.Selector, at.Child("selector"))
		errs = append(errs, more...)
	}
	if resources.NamespaceSelector != nil {
		f.namespaceSelector, more = compileSelector(resources.NamespaceSelector, at.Child("namespaceSelector"))
		errs = append(errs, more...)
	}
	return f, errs
}

func isEmptyDescription(d *v1alpha1.ResourceDescription) bool {
	return d.Kinds == nil && d.Name == "" && d.Names == nil && d.Namespaces == nil && d.Annotations == nil &&
		d.Selector == nil && d.NamespaceSelector == nil && d.Operations == nil
}

// choose returns the one form of a list that is given, each of its entries
// checked, and refuses two forms and an empty list.
func choose(filter *field.Path, check func(string) error, forms []entries) (entries, field.ErrorList) {
	var chosen entries
	var errs field.ErrorList
	for _, form := range forms {
		path := filter.Child(form.fields[0], form.fields[1:]...)
		switch {
		case !form.given():
			continue
		case chosen.given():
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("says the same as %s; keep one of them", strings.Join(chosen.fields, "."))))
			continue
		case len(form.values) == 0:
			errs = append(errs, field.Required(path, "an empty list matches nothing; name one or more, or leave the field out"))
		}
		chosen = form
		for i, value := range form.values {
			if err := check(value); err != nil {
				errs = append(errs, field.Invalid(form.at(filter, i), value, err.Error()))
			}
		}
	}
	return chosen, errs
}

func unknownOperation(entry string) error {
	if upper := strings.ToUpper(entry); slices.Contains(knownOperations, request.Operation(upper)) {
		return fmt.Errorf("is not how the operation is written; write %s", upper)
	}
	return fmt.Errorf("is not an operation; the operations are CREATE, UPDATE, DELETE and CONNECT")
}

// checkNamePattern refuses a pattern that no resource's name can match. Names of
// most kinds are in lower case, those of RBAC may hold nearly anything.
func checkNamePattern(pattern string) error {
	switch {
	case pattern == "":
		return fmt.Errorf("an empty name matches no resource")
	case pattern == "." || pattern == "..":
		return fmt.Errorf("matches no resource: it cannot be a name")
	case strings.ContainsAny(pattern, "/%"):
		return fmt.Errorf("matches no resource: names hold no / and no %%; a namespace belongs in namespaces")
	case strings.ContainsAny(pattern, "[]{}\\ \t\r\n"):
		return fmt.Errorf("matches no resource: patterns know only * and ?; list each name or pattern on its own")
	}
	return nil
}
