package policy

import (
	"reflect"
	"testing"
)

// TestSamePolicies compiles the policies again when those of any kind change: what
// is not compared would not come into force before another kind changes.
func TestSamePolicies(t *testing.T) {
	// Exceptions and breakglass are compiled each time, and ModuleRules go by what
	// stands in AdmissionPolicies.
	apart := map[string]bool{"ModuleRules": true, "Escalations": true, "Sessions": true, "Exceptions": true}
	if none := (Sources{}); !none.samePolicies(&Sources{}) {
		t.Error("no policies are not the same as none")
	}
	fields := reflect.TypeFor[Sources]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		t.Run(field.Name, func(t *testing.T) {
			var one, none Sources
			list := reflect.ValueOf(&one).Elem().Field(i)
			if apart[field.Name] {
				return
			}
			list.Set(reflect.Append(list, reflect.Zero(field.Type.Elem())))
			if one.samePolicies(&none) || none.samePolicies(&one) {
				t.Error("a change is not noticed")
			}
			if same := one; !one.samePolicies(&same) {
				t.Error("the same are not")
			}
		})
	}
}
