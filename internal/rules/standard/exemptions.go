package standard

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Exemptions are requests that the PodSecurity admission plugin would not
// judge. A nil *Exemptions exempts none.
type Exemptions struct {
	users, namespaces, runtimeClasses sets.Set[string]
}

// CompileExemptions compiles exemptions that stand at a path. They are exact
// names: a name that no namespace or runtime class can have, a pattern among
// them, is an error, and so is one that stands there twice. Nil exempts none.
func CompileExemptions(exemptions *v1alpha1.StandardExemptions, at *field.Path) (*Exemptions, field.ErrorList) {
	if exemptions == nil {
		return nil, nil
	}
	users, errs := exactNames(exemptions.Usernames, at.Child("usernames"), userName)
	namespaces, more := exactNames(exemptions.Namespaces, at.Child("namespaces"), validation.ValidateNamespaceName)
	errs = append(errs, more...)
	classes, more := exactNames(exemptions.RuntimeClasses, at.Child("runtimeClasses"), validation.NameIsDNSSubdomain)
	errs = append(errs, more...)
	if len(errs) > 0 {
		return nil, errs
	}
	return &Exemptions{users: users, namespaces: namespaces, runtimeClasses: classes}, nil
}

// Match reports whether a request is exempt, and by what: its namespace, its
// user or the runtime class of its pod, in this order. An empty name and a nil
// pod match nothing.
func (e *Exemptions) Match(user, namespace string, p *pod.Pod) (why string, ok bool) {
	if e == nil {
		return "", false
	}
	if e.namespaces.Has(namespace) {
		return "namespace " + namespace + " is exempt", true
	}
	if e.users.Has(user) {
		return "user " + user + " is exempt", true
	}
	if p == nil || p.Spec.RuntimeClassName == nil {
		return "", false
	}
	if class := *p.Spec.RuntimeClassName; e.runtimeClasses.Has(class) {
		return "runtime class " + class + " is exempt", true
	}
	return "", false
}

// exactNames makes a set of names, each of which must be valid and new.
func exactNames(names []string, at *field.Path, problems func(name string, prefix bool) []string) (sets.Set[string], field.ErrorList) {
	set := sets.New[string]()
	var errs field.ErrorList
	for i, name := range names {
		if wrong := problems(name, false); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at.Index(i), name, "exemptions are exact names: "+strings.Join(wrong, ", ")))
			continue
		}
		if set.Has(name) {
			errs = append(errs, field.Duplicate(at.Index(i), name))
		}
		set.Insert(name)
	}
	return set, errs
}

// userName finds fault only with an empty name: anything else can be a user.
func userName(name string, _ bool) []string {
	if name == "" {
		return []string{"a username must not be empty"}
	}
	return nil
}
