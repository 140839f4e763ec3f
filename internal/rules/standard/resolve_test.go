package standard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// compareWithPod fails the test where a violation has no finding, or a finding
// says of the pod's JSON what is not there.
func compareWithPod(t *testing.T, object any, violations []Violation) {
	t.Helper()
	for _, v := range violations {
		if len(v.Findings) == 0 {
			t.Errorf("%s has no finding", v.ID)
		}
		seen := map[string]bool{}
		for _, f := range v.Findings {
			if seen[f.Path] {
				t.Errorf("%s: two findings at %s", v.ID, f.Path)
			}
			seen[f.Path] = true
			if f.Detail == "" {
				t.Errorf("%s: %s has no detail", v.ID, f.Path)
			}
			value, err := resolve(object, f.Path)
			if err != nil {
				t.Errorf("%s: %s: %v", v.ID, f.Path, err)
			} else if !sameValue(value, f.Value) {
				// Nothing but the volume itself is at fault where a volume has
				// no source.
				if v.ID == "restrictedVolumes" && f.Value == "" && strings.HasSuffix(f.Path, "]") {
					continue
				}
				t.Errorf("%s: %s is %q, the finding says %q", v.ID, f.Path, value, f.Value)
			}
		}
	}
}

// untyped is the pod's JSON, decoded without its types.
func untyped(t testing.TB, p *pod.Pod) any {
	t.Helper()
	data, err := json.Marshal(corev1.Pod{ObjectMeta: *p.Meta, Spec: *p.Spec})
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// resolve returns what stands at a path: strings as they are, everything else
// as JSON, and "" for a field that is not set or of which a parent is not set.
// An index that is not in its list, and a name below what is not an object, are
// errors.
func resolve(object any, path string) (string, error) {
	for path != "" && object != nil {
		if key, rest, ok := bracketed(path); ok {
			switch container := object.(type) {
			case map[string]any:
				object = container[key]
			case []any:
				index, err := strconv.Atoi(key)
				if err != nil || index < 0 || index >= len(container) {
					return "", fmt.Errorf("no index %s in a list of %d", key, len(container))
				}
				object = container[index]
			default:
				return "", fmt.Errorf("[%s] below a %T", key, object)
			}
			path = rest
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		fields, ok := object.(map[string]any)
		if !ok {
			return "", fmt.Errorf(".%s below a %T", path[:end], object)
		}
		object, path = fields[path[:end]], path[end:]
	}
	switch value := object.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	default:
		return jsonOf(value), nil
	}
}

// bracketed cuts "[key]" off the start of a path.
func bracketed(path string) (key, rest string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	return strings.Cut(path[1:], "]")
}

// sameValue compares values, which may have the keys of an object in another
// order.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	var left, right map[string]any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && cmp.Equal(left, right)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	object := map[string]any{"a": []any{map[string]any{"b": "x"}, map[string]any{"c": json.Number("7"), "d": true}}, "m": map[string]any{"k.x/y": "z"}}
	tests := []struct{ path, want, wantErr string }{
		{path: "a[0].b", want: "x"},
		{path: "a[1].c", want: "7"},
		{path: "a[1].d", want: "true"},
		{path: "a[1]", want: `{"c":7,"d":true}`},
		{path: "a[1].missing.deeper", want: ""},
		{path: "m[k.x/y]", want: "z"},
		{path: "a[2]", wantErr: "no index 2 in a list of 2"},
		{path: "a.b", wantErr: ".b below a []interface {}"},
		{path: "a[0].b.c", wantErr: ".c below a string"},
	}
	for _, test := range tests {
		got, err := resolve(object, test.path)
		if got != test.want || fmt.Sprint(err) != test.wantErr && (err != nil || test.wantErr != "") {
			t.Errorf("%s: got %q, error %v", test.path, got, err)
		}
	}
}
