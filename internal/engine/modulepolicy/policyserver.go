package modulepolicy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// The reasons of the condition Enforced of a policy that a PolicyServer judges by, as
// whoever runs that server says it. What says it of other policies does not touch these.
const (
	EnforcedAtServer    = "AtPolicyServer"
	NotEnforcedAtServer = "NotAtPolicyServer"
)

// longestServer is the longest name of a PolicyServer: a Service is called after it.
const longestServer = 40

// checkServerName says what is wrong with the name of a server; nothing if there is
// none.
func checkServerName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	if len(name) > longestServer || len(validation.IsDNS1123Label(name)) > 0 {
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("cannot be part of the name of a Service; use at most %d lower case letters, digits and hyphens", longestServer))}
	}
	return nil
}

// CheckPolicyServer says what is wrong with a server.
func CheckPolicyServer(s *v1alpha1.PolicyServer) field.ErrorList {
	at := field.NewPath("spec")
	errs := checkServerName(s.Name, field.NewPath("metadata", "name"))
	switch {
	case s.Spec.Image == "":
		errs = append(errs, field.Required(at.Child("image"), "give the image of Sallyport that the server runs"))
	case !looksLikeImage(s.Spec.Image):
		errs = append(errs, field.Invalid(at.Child("image"), s.Spec.Image, "is not an image; it looks like registry.example.com/sallyport:v1"))
	}
	if n := s.Spec.Replicas; n != nil && (*n < 0 || *n > 100) {
		errs = append(errs, field.Invalid(at.Child("replicas"), *n, "is not a number from 0 to 100"))
	}
	if account := s.Spec.ServiceAccountName; account != "" {
		for _, wrong := range validation.IsDNS1123Subdomain(account) {
			errs = append(errs, field.Invalid(at.Child("serviceAccountName"), account, "is not the name of a service account: "+wrong))
		}
	}
	seen := map[string]bool{}
	for i := range s.Spec.Env {
		path, name := at.Child("env").Index(i), s.Spec.Env[i].Name
		if seen[name] {
			errs = append(errs, field.Duplicate(path.Child("name"), name))
		}
		seen[name] = true
		errs = append(errs, checkEnv(&s.Spec.Env[i], path)...)
	}
	return errs
}

func looksLikeImage(image string) bool {
	odd := func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r) }
	return !strings.ContainsFunc(image, odd) && !strings.Contains(image, "://") && !strings.HasPrefix(image, "-")
}

// checkEnv says what is wrong with a variable. Values out of a Secret are refused:
// whoever writes a server would read Secrets of the namespace that Sallyport runs
// in by way of an image of their choice.
func checkEnv(e *corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if e.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "give the variable a name"))
	} else {
		for _, wrong := range validation.IsEnvVarName(e.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), e.Name, wrong))
		}
	}
	from := e.ValueFrom
	if from == nil {
		return errs
	}
	path = path.Child("valueFrom")
	given := 0
	for _, is := range []bool{from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil} {
		if is {
			given++
		}
	}
	switch {
	case e.Value != "":
		errs = append(errs, field.Invalid(path, "", "stands beside value; give one of both"))
	case from.SecretKeyRef != nil:
		errs = append(errs, field.Forbidden(path.Child("secretKeyRef"), "a server gets no Secrets of the namespace that Sallyport runs in; credentials for registries are given to Sallyport itself, and what modules read is granted to their policies"))
	case given != 1 || from.FileKeyRef != nil:
		errs = append(errs, field.Invalid(path, "", "has to name one of fieldRef, resourceFieldRef and configMapKeyRef, and nothing else"))
	case from.ConfigMapKeyRef != nil && (from.ConfigMapKeyRef.Name == "" || from.ConfigMapKeyRef.Key == ""):
		errs = append(errs, field.Required(path.Child("configMapKeyRef"), "give a name and a key"))
	case from.FieldRef != nil && from.FieldRef.FieldPath == "":
		errs = append(errs, field.Required(path.Child("fieldRef", "fieldPath"), "give the field, such as metadata.name"))
	case from.ResourceFieldRef != nil && !slices.Contains([]string{"limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "limits.ephemeral-storage", "requests.ephemeral-storage"}, from.ResourceFieldRef.Resource):
		errs = append(errs, field.Invalid(path.Child("resourceFieldRef", "resource"), from.ResourceFieldRef.Resource, "is none of a container's resources, such as limits.memory"))
	}
	return errs
}

// StrayServers names the servers that policies are for and that are not there.
// Sallyport judges by these policies itself. They may come later.
func (s *Set) StrayServers() stored.Problems {
	var stray stored.Problems
	for _, p := range s.Modules.All {
		if server := p.Guest.Server; p.Broken == nil && server != "" && !s.Servers[server] {
			problem := (stored.Ref{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy}).Problem("")
			problem.Path, problem.Detail = "spec.policyServer", fmt.Sprintf("names the PolicyServer %q, which is not there; until it is, Sallyport judges by this policy itself, with its own account", server)
			problem.Reason = effect.NotThere.Reason
			stray = append(stray, problem)
		}
	}
	return stray
}
