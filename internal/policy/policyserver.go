package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// KindPolicyServer is the kind of servers that run policies of their own.
const KindPolicyServer = "PolicyServer"

// longestServer is the longest name of a PolicyServer: a Service is called after it.
const longestServer = 40

// checkPolicyServer says what is wrong with a PolicyServer beyond its schema.
func checkPolicyServer(o *v1alpha1.PolicyServer) field.ErrorList {
	var errs field.ErrorList
	if len(o.Name) > longestServer || len(validation.IsDNS1123Label(o.Name)) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.Name, fmt.Sprintf("cannot be part of the name of a Service; use at most %d small letters, digits and hyphens", longestServer)))
	}
	at := field.NewPath("spec")
	if o.Spec.Image == "" || strings.ContainsAny(o.Spec.Image, " \t\n") {
		errs = append(errs, field.Invalid(at.Child("image"), o.Spec.Image, "is no image; it looks like ghcr.io/org/sallyport:v1"))
	}
	if r := o.Spec.Replicas; r != nil && (*r < 0 || *r > 100) {
		errs = append(errs, field.Invalid(at.Child("replicas"), *r, "is no number between 0 and 100"))
	}
	if name := o.Spec.ServiceAccountName; name != "" {
		for _, wrong := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(at.Child("serviceAccountName"), name, wrong))
		}
	}
	seen := map[string]bool{}
	for i, e := range o.Spec.Env {
		path := at.Child("env").Index(i).Child("name")
		if seen[e.Name] {
			errs = append(errs, field.Duplicate(path, e.Name))
		}
		seen[e.Name] = true
		for _, wrong := range validation.IsEnvVarName(e.Name) {
			errs = append(errs, field.Invalid(path, e.Name, wrong))
		}
	}
	return errs
}
