package contextgate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// MaxGrants bounds the contextAware field of one policy.
const MaxGrants = 256

// GrantsOf reads a contextAware field. The errors name the entry and the field of
// it. NewPolicy takes what is returned.
func GrantsOf(given []v1alpha1.ContextGrant, at *field.Path) ([]Grant, field.ErrorList) {
	if len(given) > MaxGrants {
		return nil, field.ErrorList{field.TooMany(at, len(given), MaxGrants)}
	}
	var grants []Grant
	var errs field.ErrorList
	for i := range given {
		g, more := grantOf(&given[i], at.Index(i))
		errs = append(errs, more...)
		grants = append(grants, g)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return grants, nil
}

func grantOf(from *v1alpha1.ContextGrant, at *field.Path) (Grant, field.ErrorList) {
	g := Grant{
		Group: from.Group, Version: from.Version, Resource: from.Resource, Kind: from.Kind,
		Namespaces: from.Namespaces, Names: from.Names, LabelSelector: from.LabelSelector, Fields: from.Fields,
	}
	var errs field.ErrorList
	switch {
	case from.Resource == "" && from.Kind == "":
		errs = append(errs, field.Required(at.Child("resource"), "give group, version and resource; or apiVersion and kind"))
	case from.Resource != "" && from.Kind != "":
		errs = append(errs, field.Invalid(at.Child("kind"), from.Kind, fmt.Sprintf("stands beside resource %q; give group, version and resource, or apiVersion and kind", from.Resource)))
	case from.Kind != "" && (from.Group != "" || from.Version != ""):
		errs = append(errs, field.Invalid(at.Child("apiVersion"), from.APIVersion, "group and version belong to resource; beside kind, apiVersion says both"))
	case from.Resource != "" && from.APIVersion != "":
		errs = append(errs, field.Invalid(at.Child("apiVersion"), from.APIVersion, "belongs to kind; beside resource, give group and version"))
	case from.Kind != "":
		version, err := schema.ParseGroupVersion(from.APIVersion)
		if err != nil || version.Version == "" {
			errs = append(errs, field.Invalid(at.Child("apiVersion"), from.APIVersion, "is not an apiVersion; give one such as v1 or apps/v1"))
		}
		g.Group, g.Version = version.Group, version.Version
	}
	for name, list := range map[string][]string{"names": from.Names, "namespaces": from.Namespaces, "fields": from.Fields} {
		if list != nil && len(list) == 0 {
			errs = append(errs, field.Required(at.Child(name), "an empty list grants nothing; name one or more, or leave the field out to grant all"))
		}
	}
	for name, list := range map[string][]string{"names": from.Names, "namespaces": from.Namespaces} {
		for i, one := range list {
			if strings.ContainsAny(one, "*?") {
				errs = append(errs, field.Invalid(at.Child(name).Index(i), one, "is a pattern, and names are granted one by one; leave the list out to grant all"))
			}
		}
	}
	if len(errs) > 0 {
		return g, errs
	}
	if _, err := compile(&g); err != nil {
		// Such errors begin with the field.
		name, detail, _ := strings.Cut(strings.TrimPrefix(err.Error(), "."), ": ")
		errs = append(errs, field.Invalid(at.Child(name), valueOf(from, name), detail))
	}
	return g, errs
}

func valueOf(from *v1alpha1.ContextGrant, name string) any {
	switch name {
	case "group":
		return from.Group
	case "version":
		return from.Version
	case "resource":
		return from.Resource
	case "kind":
		return from.Kind
	case "namespaces":
		return from.Namespaces
	case "names":
		return from.Names
	case "fields":
		return from.Fields
	}
	return from.LabelSelector
}
