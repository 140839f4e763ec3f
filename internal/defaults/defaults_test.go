package defaults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestX(t *testing.T) {
	f, _ := os.Open("/tmp/h3/objects.jsonl")
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	bad, n := 0, 0
	seen := map[string]int{}
	for s.Scan() {
		var p struct{ In, Out json.RawMessage }
		json.Unmarshal(s.Bytes(), &p)
		var head struct{ APIVersion, Kind string }
		json.Unmarshal(p.In, &head)
		n++
		got, err := Newest().Fill(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), p.In, "")
		if err != nil {
			bad++
			t.Logf("%s: %v", head, err)
			continue
		}
		var a, b any
		json.NewDecoder(bytes.NewReader(p.Out)).Decode(&a)
		json.NewDecoder(bytes.NewReader(got)).Decode(&b)
		strip(a)
		strip(b)
		if d := cmp.Diff(a, b); d != "" {
			bad++
			seen[head.APIVersion+head.Kind]++
			if seen[head.APIVersion+head.Kind] < 3 {
				t.Logf("%s: %s\n%s\n%s", head, p.In, p.Out, d)
			}
		}
	}
	t.Errorf("%d of %d", bad, n)
	t.Log(seen)
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "timeAdded")
		for _, e := range v {
			strip(e)
		}
	case []any:
		for _, e := range v {
			strip(e)
		}
	}
}
