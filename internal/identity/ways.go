package identity

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// kindOf is a custom kind with the compiled paths.
type kindOf struct {
	kind    schema.GroupKind
	lookups []pod.Lookup
}

// compileWay compiles the one way in which the source reads its value.
func compileWay(spec *v1alpha1.IdentitySourceSpec, into *identitySource, at *field.Path) ([]kindOf, field.ErrorList) {
	var errs field.ErrorList
	var kinds []kindOf
	var given []string
	way := func(name string) *field.Path {
		given = append(given, name)
		return at.Child(name)
	}
	if w := spec.PodAnnotation; w != nil {
		into.annotation = w.Name
		if w.Name == "" {
			into.annotation = spec.Key
		}
		errs = append(errs, checkAnnotation(w.Name, way("podAnnotation").Child("name"))...)
	}
	if w := spec.ServiceAccount; w != nil {
		at := way("serviceAccount")
		into.annotation = w.Annotation
		errs = append(errs, checkAnnotation(w.Annotation, at.Child("annotation"))...)
		if w.Kinds != nil {
			var more field.ErrorList
			kinds, more = compileKinds(w.Kinds, at.Child("kinds"))
			errs = append(errs, more...)
		}
	}
	if w := spec.CSIVolume; w != nil {
		at := way("csiVolume")
		into.attribute = w.VolumeAttribute
		if w.Driver == "" {
			errs = append(errs, field.Required(at.Child("driver"), "name the driver, such as csi.spiffe.io"))
		} else if faults := validation.IsDNS1123Subdomain(strings.ToLower(w.Driver)); len(faults) > 0 {
			errs = append(errs, field.Invalid(at.Child("driver"), w.Driver, "is not the name of a driver: "+strings.Join(faults, "; ")))
		}
	}
	if w := spec.ProjectedToken; w != nil {
		at := way("projectedToken")
		if w.Audience == "" {
			errs = append(errs, field.Required(at.Child("audience"), "name the audience; a token without one is for the API server, and every pod has it"))
		}
	}
	if w := spec.PodCertificate; w != nil {
		at := way("podCertificate")
		if domain, name, ok := strings.Cut(w.SignerName, "/"); !ok || domain == "" || name == "" {
			errs = append(errs, field.Invalid(at.Child("signerName"), w.SignerName, "is not a signer; write DOMAIN/NAME, such as example.com/workload"))
		}
	}
	if w := spec.Field; w != nil {
		var more field.ErrorList
		kinds, more = compileKinds(w.Kinds, way("field").Child("kinds"))
		errs = append(errs, more...)
	}
	const ways = "podAnnotation, serviceAccount, csiVolume, projectedToken, podCertificate and field"
	switch len(given) {
	case 1:
	case 0:
		errs = append(errs, field.Required(at, "says nowhere to read the value from; give one of "+ways))
	default:
		errs = append(errs, field.Forbidden(at, "gives "+strings.Join(given, " and ")+"; a source has exactly one of "+ways))
	}
	return kinds, errs
}

// checkAnnotation refuses a name that no annotation can have: it would be found
// nowhere. None at all counts as not given.
func checkAnnotation(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	if faults := validation.IsQualifiedName(strings.ToLower(name)); len(faults) > 0 {
		return field.ErrorList{field.Invalid(at, name, "is not the name of an annotation: "+strings.Join(faults, "; "))}
	}
	return nil
}

// builtin are the kinds whose pods the other ways read.
var builtin = func() *pod.Registry {
	r, err := pod.NewRegistry()
	if err != nil {
		// There is nothing in it that could be wrong.
		panic(err)
	}
	return r
}()

func compileKinds(kinds []v1alpha1.IdentityKind, at *field.Path) ([]kindOf, field.ErrorList) {
	if len(kinds) == 0 {
		return nil, field.ErrorList{field.Required(at, "name at least one kind, with its paths")}
	}
	var errs field.ErrorList
	var out []kindOf
	seen := map[schema.GroupKind]bool{}
	for i := range kinds {
		k, at := &kinds[i], at.Index(i)
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		if faults := validation.IsDNS1123Subdomain(k.Group); len(faults) > 0 {
			errs = append(errs, field.Invalid(at.Child("group"), k.Group, "is not a group of a custom kind, such as tekton.dev, without a version"))
		}
		if faults := validation.IsDNS1035Label(strings.ToLower(k.Kind)); len(faults) > 0 || strings.HasSuffix(k.Kind, "List") {
			errs = append(errs, field.Invalid(at.Child("kind"), k.Kind, "is not a kind, such as TaskRun; objects of a list are read by their own kind"))
		}
		switch {
		case builtin.Makes(gk):
			errs = append(errs, field.Invalid(at.Child("kind"), k.Kind, "is a kind of Kubernetes; its pods are read by podAnnotation, serviceAccount and the others"))
		case seen[gk]:
			errs = append(errs, field.Duplicate(at.Child("kind"), k.Kind))
		}
		seen[gk] = true
		if len(k.Paths) == 0 {
			errs = append(errs, field.Required(at.Child("paths"), "name at least one path, such as spec.serviceAccountName"))
		}
		compiled := kindOf{kind: gk}
		for j, text := range k.Paths {
			lookup, err := pod.ParseLookup(text)
			if err != nil {
				errs = append(errs, field.Invalid(at.Child("paths").Index(j), text, err.Error()))
				continue
			}
			if first, _, _ := strings.Cut(text, "."); first == "metadata" || first == "status" {
				errs = append(errs, field.Invalid(at.Child("paths").Index(j), text, "is not part of what the object is to be: labels, annotations and status are changed by others, and in other ways"))
				continue
			}
			compiled.lookups = append(compiled.lookups, lookup)
		}
		out = append(out, compiled)
	}
	return out, errs
}
