package apijson

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestErrorsNameTheFieldAndWhatIsRight(t *testing.T) {
	tests := []struct {
		name, data, want string
	}{
		{"wrong kind in a list", `{"spec":{"containers":[{"name":"a"},{"name":1}]}}`,
			`spec.containers[1].name: found a number, a string belongs here: write it in quotes`},
		{"number for an index-like key", `{"metadata":{"labels":{"0":1}}}`,
			`metadata.labels.0: found a number, a string belongs here: write it in quotes`},
		{"odd key", `{"metadata":{"labels":{"example.com/x":{}}}}`,
			`metadata.labels["example.com/x"]: found an object, a string belongs here`},
		{"fraction", `{"spec":{"priority":1.5}}`,
			`spec.priority: found 1.5, a whole number of 32 bits belongs here`},
		{"too large", `{"spec":{"activeDeadlineSeconds":92233720368547758070}}`,
			`spec.activeDeadlineSeconds: found 92233720368547758070, a whole number of 64 bits belongs here`},
		{"long number", `{"spec":{"priority":` + strings.Repeat("9", 100) + `}}`,
			`spec.priority: found ` + strings.Repeat("9", 40) + `..., a whole number of 32 bits belongs here`},
		{"list for an object", `{"spec":[]}`, `spec: found a list, an object belongs here`},
		{"string for a boolean", `{"spec":{"hostNetwork":"true"}}`,
			`spec.hostNetwork: found a string, true or false belongs here`},
		{"boolean for a string", `{"metadata":{"name":false}}`, `metadata.name: found true or false, a string belongs here: write it in quotes`},
		{"fraction for a string", `{"metadata":{"name":1.34}}`, `metadata.name: found a number, a string belongs here: write it in quotes`},
		{"fraction for a string of another type", `{"spec":{"restartPolicy":1.34}}`, `spec.restartPolicy: found a number, a string belongs here: write it in quotes`},
		{"list for a string", `{"metadata":{"name":[]}}`, `metadata.name: found a list, a string belongs here`},
		{"boolean for a list", `{"spec":{"volumes":true}}`, `spec.volumes: found true or false, a list belongs here`},
		{"whole input", `[]`, `found a list, an object belongs here`},
		{"quantity", `{"spec":{"overhead":{"cpu":"one"}}}`,
			`spec.overhead.cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		{"twice in a struct", `{"spec":{"hostPID":true,"hostPID":false}}`,
			`spec.hostPID: stands more than once in the same object`},
		{"twice in a map", `{"metadata":{"labels":{"a":"1","b":"2","a":"3"}}}`,
			`metadata.labels.a: stands more than once in the same object`},
		{"twice in what is skipped", `{"x":[{"a":1,"a":2}]}`, `x[0].a: stands more than once in the same object`},
		{"twice by an escape", `{"spec":{"hostPID":true,"host\u0050ID":false}}`,
			`spec.hostPID: stands more than once in the same object`},
		{"nothing", ` `, `nothing was found, JSON belongs here`},
		{"cut off", `{"spec":{"a":`, `not JSON: it ends at byte 13, before it is complete`},
		{"not JSON", `kind: Pod`, `not JSON: invalid character 'k' at start of value, at byte 0`},
		{"trailing", `{} {}`, `not JSON: invalid character '{' after top-level value, at byte 3`},
		{"too deep", strings.Repeat(`[`, 20000), `found a list, an object belongs here`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Unmarshal([]byte(tt.data), new(corev1.Pod))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			var own *Error
			if !errors.As(err, &own) || len(ErrorsOf(err)) != 1 {
				t.Errorf("%#v is not one *Error", err)
			}
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := `{"x":` + strings.Repeat(`[`, 20000)
	for name, read := range map[string]func() error{
		"skipped": func() error { return Unmarshal([]byte(deep), new(corev1.Pod)) },
		"raw":     func() error { return Unmarshal([]byte(strings.Repeat(`[`, 20000)), new(Raw)) },
		"tree":    func() error { _, err := Tree([]byte(deep)); return err },
		"field":   func() error { return Unmarshal([]byte(deep), new(map[string]any)) },
		"walk": func() error {
			return Read([]byte(deep), func(d *Decoder) error {
				return d.Object(func(string) error { return d.Skip() })
			})
		},
	} {
		err := read()
		if err == nil {
			t.Errorf("%s: 20,000 levels were read", name)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

func TestStrict(t *testing.T) {
	type condition struct {
		Namespaces []string `json:"namespaces,omitempty"`
	}
	type rule struct {
		condition    `json:",inline"`
		Name         string         `json:"name"`
		BlockFactors []string       `json:"blockFactors"`
		Weights      map[string]int `json:"weights"`
	}
	type policy struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Rules []rule `json:"rules"`
			Skip  string `json:"-"`
		} `json:"spec"`
	}
	tests := []struct {
		name, data string
		want       []string
	}{
		{"fine", `{"kind":"P","apiVersion":"v1","metadata":{"name":"a"},
			"spec":{"rules":[{"name":"x","namespaces":["a"],"weights":{"anything":1}}]}}`, nil},
		{"case", `{"spec":{"rules":[{"name":"x"},{"blockfactors":[]}]}}`,
			[]string{`spec.rules[1].blockfactors: unknown field, did you mean "blockFactors"?`}},
		{"letters", `{"spec":{"rulse":[]}}`, []string{`spec.rulse: unknown field, did you mean "rules"?`}},
		{"embedded", `{"spec":{"rules":[{"namespace":["a"]}]}}`,
			[]string{`spec.rules[0].namespace: unknown field, did you mean "namespaces"?`}},
		{"nothing near", `{"spec":{"replicas":3}}`, []string{`spec.replicas: unknown field`}},
		{"left out on purpose", `{"spec":{"Skip":"x"}}`, []string{`spec.Skip: unknown field`}},
		{"several", `{"metadata":{"nmae":"x"},"spec":{"rules":[{"a":1},{"weight":{}}],"zzz":null}}`, []string{
			`metadata.nmae: unknown field, did you mean "name"?`,
			`spec.rules[0].a: unknown field`,
			`spec.rules[1].weight: unknown field, did you mean "weights"?`,
			`spec.zzz: unknown field`,
		}},
		{"wrong kinds, all of them", `{"metadata":{"name":false,"labels":{"a":1,"b":"x","c":true}},"spec":{"rules":[{"name":1.34,"blockFactors":[true,"x",2]},{"name":{},"weights":{"a":"1"}},3]}}`, []string{
			`metadata.name: found true or false, a string belongs here: write it in quotes`,
			`metadata.labels.a: found a number, a string belongs here: write it in quotes`,
			`metadata.labels.c: found true or false, a string belongs here: write it in quotes`,
			`spec.rules[0].name: found a number, a string belongs here: write it in quotes`,
			`spec.rules[0].blockFactors[0]: found true or false, a string belongs here: write it in quotes`,
			`spec.rules[0].blockFactors[2]: found a number, a string belongs here: write it in quotes`,
			`spec.rules[1].name: found an object, a string belongs here`,
			`spec.rules[1].weights.a: found a string, a whole number of 64 bits belongs here`,
			`spec.rules[2]: found a number, an object belongs here`,
		}},
		{"wrong kinds and unknown names", `{"metadata":{"nmae":1,"creationTimestamp":"soon"},"spec":{"rules":null,"zzz":[]}}`, []string{
			`metadata.nmae: unknown field, did you mean "name"?`,
			`metadata.creationTimestamp: parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"`,
			`spec.zzz: unknown field`,
		}},
		{"odd name", `{"spec":{"a b.c":1}}`, []string{`spec["a b.c"]: unknown field`}},
		{"wrong kind", `{"spec":{"rules":{}}}`, []string{`spec.rules: found an object, a list belongs here`}},
		{"twice", `{"kind":"a","kind":"b"}`, []string{`kind: stands more than once in the same object`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := UnmarshalStrict([]byte(tt.data), new(policy))
			var got []string
			for _, e := range ErrorsOf(err) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if err != nil && err.Error() != strings.Join(tt.want, "\n") {
				t.Errorf("the error reads %q", err)
			}
		})
	}
}

func TestStrictBoundsWhatItReports(t *testing.T) {
	data := `{"x0":1`
	for i := range 1000 {
		data += `,"y` + strings.Repeat("z", i%7) + string(rune('a'+i%26)) + strings.Repeat("q", i/26) + `":1`
	}
	if n := len(ErrorsOf(UnmarshalStrict([]byte(data+`}`), new(metav1.TypeMeta)))); n != maxWrong {
		t.Errorf("%d errors, want %d", n, maxWrong)
	}
}

func TestNearest(t *testing.T) {
	names := map[string]bool{"weight": true, "thresholds": true, "appliesTo": true, "Weight2": true, "to": true}
	for name, want := range map[string]string{
		"Weight": "weight", "wieght": "weight", "treshold": "thresholds", "appliesto": "appliesTo",
		"x": "", "": "", "completely": "", "ot": "to",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("nearest to %q: %q, want %q", name, got, want)
		}
	}
}

func TestMisspelt(t *testing.T) {
	names := map[string]bool{"pods": true, "nodes": true, "exec": true}
	for name, want := range map[string]string{
		"podss": "pods", "pod": "pods", "exce": "exec", "mods": "pods", "pods": "", "ponds": "pods", "mood": "", "": "", "execution": "",
	} {
		if got := Misspelt(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
