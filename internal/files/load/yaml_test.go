package load

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzYAML holds the reading of YAML against that of the Kubernetes clients:
// what is accepted here is accepted there, and means the same.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"a: [on, yes, 0x10, 010, 1_000, 1.0, 1e3, 1e400, 2001-01-01, '1', ~, .inf]\n1: a\ntrue: b\n1.5: c\n",
		"a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\nc: !!binary aGVsbG8=\nd: !!str 1\n",
		"a: |\n  x\n   y\nb: >-\n  x\n\n  y\nc: \"\\u2028\\x00\"\n",
		"{a: b, c: [1, 18446744073709551615, -9223372036854775808]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ours, err := yamlToJSON([]byte(text), 1)
		if err != nil {
			return
		}
		theirs, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("taken here and not there: %v\n%s", err, ours)
		}
		if ours == nil {
			ours = []byte("null")
		}
		if a, b := decoded(t, ours), decoded(t, theirs); !reflect.DeepEqual(a, b) {
			t.Error(cmp.Diff(b, a))
		}
	})
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}
