package docs

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// fieldsOf are the kinds with sections of their own in docs/effects.md.
var fieldsOf = map[string]any{
	"DenyPolicy": v1alpha1.DenyPolicySpec{}, "ClusterPolicy": v1alpha1.ClusterPolicySpec{}, "PolicyException": v1alpha1.PolicyExceptionSpec{},
	"PolicyExceptionRequest": v1alpha1.PolicyExceptionRequestSpec{}, "PolicyExceptionResponse": v1alpha1.PolicyExceptionResponseSpec{},
	"ExceptionPolicy": v1alpha1.ExceptionPolicySpec{}, "IdentitySource": v1alpha1.IdentitySourceSpec{},
	"ClusterAdmissionPolicy": v1alpha1.ClusterAdmissionPolicySpec{}, "PolicyServer": v1alpha1.PolicyServerSpec{},
	"BreakglassEscalation": v1alpha1.BreakglassEscalationSpec{}, "BreakglassSession": v1alpha1.BreakglassSessionSpec{},
	"ClusterConfig": v1alpha1.ClusterConfigSpec{}, "PodKind": v1alpha1.PodKindSpec{},
	"match and exclude": v1alpha1.ResourceFilter{}, "exclusions": v1alpha1.PodSecurityExclusion{}, "contextAware": v1alpha1.ContextGrant{},
}

// apart are types whose fields are not listed where they are used: they have a section
// of their own, are one value to whoever writes them, or are many of a kind.
var apart = []reflect.Type{
	reflect.TypeFor[v1alpha1.Match](), reflect.TypeFor[v1alpha1.PodSecurityExclusion](), reflect.TypeFor[v1alpha1.ContextGrant](),
	reflect.TypeFor[v1alpha1.NamespaceFilter](), reflect.TypeFor[v1alpha1.RiskFactors](), reflect.TypeFor[v1alpha1.FailureActionOverride](),
	reflect.TypeFor[v1alpha1.ReasonRule](),
}

// TestEveryFieldIsListed has docs/effects.md say of each field of each kind what
// becomes of what is written into it.
func TestEveryFieldIsListed(t *testing.T) {
	page := pages(t)["docs/effects.md"]
	for kind, spec := range fieldsOf {
		_, section, ok := strings.Cut(page, "\n### "+kind+"\n")
		if !ok {
			t.Errorf("there is no section about %s", kind)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		eachField(reflect.TypeOf(spec), "", func(path string) {
			if !strings.Contains(section, "`"+path+"`") {
				t.Errorf("%s: %s is not listed", kind, path)
			}
		})
	}
}

// eachField calls visit with the path of each field below a type.
func eachField(in reflect.Type, at string, visit func(path string)) {
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct || in.PkgPath() != reflect.TypeFor[v1alpha1.Match]().PkgPath() {
		return
	}
	for _, other := range apart {
		if in == other && at != "" {
			return
		}
	}
	for i := range in.NumField() {
		field := in.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			eachField(field.Type, at, visit)
			continue
		}
		visit(at + name)
		eachField(field.Type, at+name+".", visit)
	}
}
