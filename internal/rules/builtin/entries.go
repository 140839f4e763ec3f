package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckEntries refuses entries that can match nothing.
func CheckEntries(entries []string, allowEmpty bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, entry := range entries {
		switch {
		case entry == "" && !allowEmpty:
			errs = append(errs, field.Invalid(path.Index(i), entry, "an empty name matches nothing"))
		case strings.TrimSpace(entry) != entry:
			errs = append(errs, field.Invalid(path.Index(i), entry, "begins or ends with a space, and so matches nothing"))
		}
	}
	return errs
}
