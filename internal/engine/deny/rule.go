package deny

import (
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Rule is a compiled DenyRule.
type Rule struct {
	verbs, apiGroups glob.List
	// resources without a subresource; with one, "pods/exec".
	plain, withSubresource glob.List
	subresources           glob.List
	HasSubresources        bool
	namespaces             *match.Namespaces
	names                  glob.List
	anyName                bool
	Written                *v1alpha1.DenyRule
	// wide is set for a rule of a broken policy of which the resources cannot be read.
	wide bool
}

// CompileDenyRule compiles the rule at path; the errors are all that is wrong with it.
func CompileDenyRule(r *v1alpha1.DenyRule, path *field.Path) (*Rule, field.ErrorList) {
	var errs field.ErrorList
	required := func(name string, entries []string, allowEmpty bool) {
		at := path.Child(name)
		if len(entries) == 0 {
			errs = append(errs, field.Required(at, "matches nothing; name one or more, or \"*\" for all"))
		}
		errs = append(errs, builtin.CheckEntries(entries, allowEmpty, at)...)
	}
	required("verbs", r.Verbs, false)
	required("apiGroups", r.APIGroups, true)
	required("resources", r.Resources, false)
	names := builtin.NewRuleNames(r.APIGroups)
	errs = append(errs, names.Check(r.Verbs, path.Child("verbs"), names.Verb)...)
	errs = append(errs, names.Check(r.APIGroups, path.Child("apiGroups"), names.Group)...)
	optional := func(name string, entries []string) {
		if entries != nil && len(entries) == 0 {
			errs = append(errs, field.Required(path.Child(name), "an empty list matches nothing; name one or more, or leave the field out"))
		}
		errs = append(errs, builtin.CheckEntries(entries, false, path.Child(name))...)
	}
	optional("subresources", r.Subresources)
	optional("resourceNames", r.ResourceNames)

	compiled := &Rule{
		verbs:           glob.NewList(r.Verbs),
		apiGroups:       glob.NewList(r.APIGroups),
		subresources:    glob.NewList(r.Subresources),
		HasSubresources: len(r.Subresources) > 0,
		names:           glob.NewList(r.ResourceNames),
		anyName:         len(r.ResourceNames) == 0,
		Written:         r,
	}
	plain, with, more := compileResources(r, names, path)
	errs = append(errs, more...)
	compiled.plain, compiled.withSubresource = glob.NewList(plain), glob.NewList(with)
	var namespaces *match.Namespaces
	namespaces, more = match.CompileNamespaces(r.Namespaces, path.Child("namespaces"))
	compiled.namespaces = namespaces
	if errs = append(errs, more...); len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

// compileResources splits the resources into those that stand for themselves and
// those with a subresource.
func compileResources(r *v1alpha1.DenyRule, names *builtin.RuleNames, path *field.Path) (plain, with []string, errs field.ErrorList) {
	for i, resource := range r.Resources {
		at := path.Child("resources").Index(i)
		name, subresource, slash := strings.Cut(resource, "/")
		if strings.TrimSpace(resource) != resource {
			continue // checkEntries says so
		}
		wrong := ""
		switch {
		case slash && (name == "" || subresource == "" || strings.Contains(subresource, "/")):
			wrong = "write resource or resource/subresource, such as pods or pods/exec"
		case slash && len(r.Subresources) > 0:
			wrong = "names a subresource while the field subresources names others; use one of the two"
		default:
			wrong = names.Resource(name)
		}
		if wrong == "" && slash {
			wrong = names.Subresource(name, subresource)
		}
		switch {
		case wrong != "":
			errs = append(errs, field.Invalid(at, resource, wrong))
		case slash:
			with = append(with, resource)
		case resource == "*":
			// As in RBAC, the star stands for subresources too, where none are listed.
			plain, with = append(plain, resource), append(with, resource)
		default:
			plain = append(plain, resource)
		}
	}
	if len(plain) == 1 {
		errs = append(errs, names.Check(r.Subresources, path.Child("subresources"), func(name string) string {
			return names.Subresource(plain[0], name)
		})...)
	}
	return plain, with, errs
}

// isAbout reports whether the rule is about a resource.
func (d *Rule) isAbout(key ResourceKey) bool {
	return covers(&d.apiGroups, key.Group) && d.matchesResource(key)
}

// asks reports whether the rule is about a request for a resource that it is
// about. An error means that the namespace's labels were needed and could not be
// read.
func (d *Rule) asks(r *request.Request, labelsOf func(namespace string) func() (map[string]string, error)) (bool, error) {
	if !d.matchesVerb(r) {
		return false, nil
	}
	for _, form := range FormsOf(r) {
		if !d.isAbout(keyOf(form)) || !d.anyName && !d.matchesName(form) || form.Implied && d.everyName() {
			continue
		}
		if d.namespaces == nil || form.Namespace == "*" {
			return true, nil
		}
		if matched, err := d.namespaces.Select(form.Namespace, labelsOf(form.Namespace)); matched || err != nil {
			return matched, err
		}
	}
	return false, nil
}

// FormsOf are the ways to name what a request asks for: one, except for impersonation,
// which only the access door hears of.
func FormsOf(r *request.Request) []impersonation.Form {
	asked := impersonation.Form{Group: r.Resource.Group, Resource: r.Resource.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
	return impersonation.Forms(r.Verb, asked)
}

func keyOf(f impersonation.Form) ResourceKey { return ResourceKey{f.Group, f.Resource, f.Subresource} }

// matchesName compares the name as it came and, for proxy, as it is without the
// scheme and the port that may stand around it.
func (d *Rule) matchesName(f impersonation.Form) bool {
	return d.names.Match(f.Name) || f.Subresource == "proxy" && d.names.Match(call.WithoutSchemeAndPort(f.Name)) ||
		standsForMany(f) && d.names.Overlaps(f.Name)
}

// everyName reports whether the rule names no one in particular.
func (d *Rule) everyName() bool {
	return d.anyName || slices.Contains(d.Written.ResourceNames, stored.Anything)
}

// standsForMany reports whether the name is one that the API server asks about in place
// of many: whoever may do it to all of them is not asked about each.
func standsForMany(f impersonation.Form) bool {
	return f.StandsForMany() ||
		f.Group == certificatesv1.GroupName && f.Resource == "signers" && strings.HasSuffix(f.Name, "/*")
}

// covers reports whether a list covers what is asked for, which stands for many where
// the API server puts a star in place of a group, a resource or a subresource.
func covers(l *glob.List, asked string) bool {
	return l.Match(asked) || strings.Contains(asked, "*") && l.Overlaps(asked)
}

func (d *Rule) matchesResource(key ResourceKey) bool {
	if key.Subresource == "" {
		return covers(&d.plain, key.Resource)
	}
	if d.HasSubresources {
		return covers(&d.plain, key.Resource) && covers(&d.subresources, key.Subresource)
	}
	return covers(&d.withSubresource, key.Resource+"/"+key.Subresource)
}

// matchesVerb compares the verb of the access door. The admission door knows
// only operations; each stands for the verbs that lead to it.
func (d *Rule) matchesVerb(r *request.Request) bool {
	if r.Door == request.Access {
		return d.verbs.Match(r.Verb) || connects(r) && d.verbs.Match(builtin.VerbConnect) || impersonation.Is(r.Verb) && d.verbs.Match(impersonation.Verb)
	}
	for _, verb := range builtin.VerbsOf(r.Operation) {
		if d.verbs.Match(verb) {
			return true
		}
	}
	return false
}

// connects reports whether a request at the access door leads to a CONNECT at
// the admission door.
func connects(r *request.Request) bool {
	return r.Resource.Group == "" && slices.ContainsFunc(IntoPodsBy, func(w Way) bool {
		return w.Connects && w.Resource == r.Resource.Resource && w.Subresource == r.Subresource
	})
}
