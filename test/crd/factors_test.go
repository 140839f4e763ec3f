package crd

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestEveryFactor holds the lists of factors in the rules to the fields of RiskFactors.
func TestEveryFactor(t *testing.T) {
	definition := definitions(t)["DenyPolicy"]
	escalations := definitions(t)["BreakglassEscalation"]
	factors := reflect.TypeFor[v1alpha1.RiskFactors]()
	for i := range factors.NumField() {
		name, _, _ := strings.Cut(factors.Field(i).Tag.Get("json"), ",")
		weight := "1"
		if name == "capabilities" {
			weight = "{SYS_ADMIN: 1}"
		}
		for spec, right := range map[string]bool{
			"{blockFactors: [" + name + "]}": true,
			"{riskFactors: {" + name + ": " + weight + "}, thresholds: [{maxScore: 0, action: allow}, {maxScore: 1, action: warn}]}": true,
			"{riskFactors: {" + name + ": " + weight + "}, blockFactors: [hostPID]}":                                                 false,
		} {
			object, problems := loaded(t, "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {podSecurityRules: "+spec+"}}", "")
			errs := definition.refuses(t.Context(), object)
			if (len(errs) == 0) != right || (len(problems) == 0) != right {
				t.Errorf("%s: the definition says %v, the loader %v", spec, errs, problems)
			}
		}
		object, problems := loaded(t, fmt.Sprintf("{apiVersion: sallyport.io/v1alpha1, kind: BreakglassEscalation, metadata: {name: a}, spec: "+strings.Replace(escalation, "HERE", "podSecurityOverrides: {exemptFactors: [%s]}", 1)+"}", name), "")
		if errs := escalations.refuses(t.Context(), object); len(errs) > 0 || len(problems) > 0 {
			t.Errorf("exempt from %s: the definition says %v, the loader %v", name, errs, problems)
		}
	}
	if factors.NumField() < 20 {
		t.Errorf("%d factors", factors.NumField())
	}
}
