package standard

import (
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// exclusion is one entry of a list.
type exclusion struct {
	// index in the list.
	index   int
	control *excusable
	// images of the containers that are excused; nil for an entry about the pod.
	images *glob.List
	// field is the only one that is excused, and the list of containers that it is in; nil
	// for every field.
	field *restrictedField
	kind  pod.Kind
	// values are the only ones that are excused; nil for any.
	values *values
}

// covers reports whether the entry excuses a finding at a place.
func (e *exclusion) covers(at *place, value string) bool {
	if e.images == nil {
		if at.container != nil {
			return false
		}
	} else if at.container == nil || !e.images.Match(at.container.Image) {
		return false
	}
	switch {
	case e.field == nil:
		return true
	case e.field.name == volumesField && at.field.volume != nil:
		return e.values.list.Match(at.field.volume.name)
	case e.field != at.field || at.container != nil && e.kind != at.kind:
		return false
	}
	return e.values.cover(at, value)
}

// CompileExclusions compiles a list of exclusions that stands at a path. An
// entry that could excuse nothing, or other than it says, is an error.
func CompileExclusions(list []v1alpha1.PodSecurityExclusion, path *field.Path) (Exclusions, field.ErrorList) {
	if len(list) == 0 {
		return Exclusions{}, nil
	}
	var errs field.ErrorList
	x := Exclusions{entries: make([]exclusion, len(list)), byControl: map[string][]*exclusion{}}
	for i := range list {
		e, more := compileExclusion(&list[i], path.Index(i))
		errs = append(errs, more...)
		if len(more) > 0 {
			continue
		}
		e.index = i
		x.entries[i] = e
		x.byControl[e.control.name] = append(x.byControl[e.control.name], &x.entries[i])
	}
	if len(errs) > 0 {
		return Exclusions{}, errs
	}
	return x, nil
}

func compileExclusion(p *v1alpha1.PodSecurityExclusion, path *field.Path) (exclusion, field.ErrorList) {
	control, err := controlNamed(p.ControlName, path.Child("controlName"))
	if err != nil {
		return exclusion{}, field.ErrorList{err}
	}
	e := exclusion{control: control}
	errs := e.takeImages(p.Images, path.Child("images"))
	errs = append(errs, e.takeField(p, path)...)
	return e, errs
}

// controlNamed finds a control by its name.
func controlNamed(name string, path *field.Path) (*excusable, *field.Error) {
	controls := excusables()
	if control := controls.byName[name]; control != nil {
		return control, nil
	}
	known := quotedList(controls.names())
	if name == "" {
		return nil, field.Required(path, "name the control that is excused: "+known)
	}
	hint := "."
	if near := apijson.Nearest(name, controls.byName); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", controls.byName[near].name)
	}
	return nil, field.Invalid(path, name, "is not a control of the Pod Security Standards"+hint+" The controls are "+known)
}

// takeImages takes the images of the entry, which have to suit its control.
func (e *exclusion) takeImages(images []string, path *field.Path) field.ErrorList {
	switch {
	case len(images) == 0 && len(e.control.pod) == 0:
		return field.ErrorList{field.Required(path, fmt.Sprintf("%s is a control of containers: name the images of those that are excused", e.control.name))}
	case len(images) > 0 && len(e.control.container) == 0:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("%s is a control of the pod, which has no image: leave the images out", e.control.name))}
	case len(images) == 0:
		return nil
	}
	var errs field.ErrorList
	for i, image := range images {
		switch {
		case image == "":
			errs = append(errs, field.Required(path.Index(i), `an image, or a pattern such as "registry.example/agent:*"`))
		case strings.ContainsFunc(image, unicode.IsSpace):
			errs = append(errs, field.Invalid(path.Index(i), image, "no image has a space in it, so that nothing would be excused"))
		}
	}
	list := glob.NewList(images)
	e.images = &list
	return errs
}

// takeField takes the field of the entry with its values.
func (e *exclusion) takeField(p *v1alpha1.PodSecurityExclusion, path *field.Path) field.ErrorList {
	at := path.Child("restrictedField")
	switch {
	case p.RestrictedField == "" && len(p.Values) == 0:
		return nil
	case p.RestrictedField == "":
		return field.ErrorList{field.Required(at, "values are those of a field: name one of "+quotedList(e.control.fieldNames()))}
	}
	f, kind := e.control.lookup(p.RestrictedField)
	if f == nil {
		return field.ErrorList{field.Invalid(at, p.RestrictedField, fmt.Sprintf("is not a field that %s restricts, which are %s", e.control.name, quotedList(e.control.fieldNames())))}
	}
	if len(p.Values) == 0 {
		return field.ErrorList{field.Required(path.Child("values"), `name the values of the field that are excused; "*" is any`)}
	}
	var errs field.ErrorList
	switch ofContainer := f.inContainer != nil; {
	case ofContainer && len(p.Images) == 0 && len(e.control.pod) > 0:
		errs = append(errs, field.Required(path.Child("images"), "restrictedField is a field of containers: name the images of those that are excused"))
	case !ofContainer && len(p.Images) > 0 && len(e.control.container) > 0:
		errs = append(errs, field.Invalid(at, p.RestrictedField, "is a field of the pod, which has no image: leave the images out, or name a field of containers"))
	}
	e.field, e.kind, e.values = f, kind, newValues(p.Values)
	if !e.values.coverOne(f.faults) {
		errs = append(errs, field.Invalid(path.Child("values"), p.Values, fmt.Sprintf("excuse nothing: the control finds no fault with this field but where it is %s", faultsInWords(f.faults))))
	}
	return errs
}

// coverOne reports whether one of the faults of a field is among the values. No
// faults are any number of them.
func (v *values) coverOne(faults []string) bool {
	for _, fault := range faults {
		if v.list.Match(fault) {
			return true
		}
	}
	return len(faults) == 0
}

func faultsInWords(faults []string) string {
	words := make([]string, len(faults))
	for i, fault := range faults {
		words[i] = fault
		if fault == "" {
			words[i] = `not set (written "")`
		}
	}
	return strings.Join(words, " or ")
}

// quotedList puts names in quotes, with commas between them.
func quotedList(names []string) string {
	return `"` + strings.Join(names, `", "`) + `"`
}
