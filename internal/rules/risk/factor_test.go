package risk

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestEveryFieldIsAFactor(t *testing.T) {
	fields := reflect.TypeFor[v1alpha1.RiskFactors]()
	if fields.NumField() != int(numFactors) {
		t.Fatalf("RiskFactors has %d fields, and there are %d factors", fields.NumField(), numFactors)
	}
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		f, ok := Parse(name)
		if !ok {
			t.Errorf("%s is not a factor", name)
			continue
		}
		if f.String() != name {
			t.Errorf("Parse(%q) gives %s", name, f)
		}
		if int(f) != i {
			t.Errorf("%s stands at %d among the fields and at %d among the factors", name, i, f)
		}
		if f == Capabilities {
			continue
		}
		var weights v1alpha1.RiskFactors
		reflect.ValueOf(&weights).Elem().Field(i).SetInt(int64(i + 1))
		for other := range numFactors {
			want := int32(0)
			if other == f {
				want = int32(i + 1)
			}
			if got := factors[other].weight(&weights); got != want {
				t.Errorf("with %s set, %s weighs %d, want %d", name, other, got, want)
			}
		}
	}
}

func TestParseKnowsNoOtherName(t *testing.T) {
	for _, name := range []string{"", "HostNetwork", "hostnetwork", "hostNetwork ", "unknown", "capability:SYS_ADMIN"} {
		if f, ok := Parse(name); ok {
			t.Errorf("Parse(%q) gives %s", name, f)
		}
	}
	if got := Factor(200).String(); got != "unknown" {
		t.Errorf("a factor that does not exist is called %q", got)
	}
}
