package wasm

import (
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

func TestPatch(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"equal", `{"a":[1,{"b":null}]}`, ` { "a" : [ 1 , {"b":null} ] } `, ``},
		{"another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ``},
		{"numbers that are equal", `[1,1.0,1e2,-0.5]`, `[1.0,1,100,-5e-1]`, ``},
		{"digits that a float has not", `{"a":9007199254740993}`, `{"a":9007199254740992}`, `[{"op":"replace","path":"/a","value":9007199254740992}]`},
		{"added, changed, removed", `{"a":1,"b":2,"c":3}`, `{"a":1,"b":[],"d":null}`, `[{"op":"replace","path":"/b","value":[]},{"op":"remove","path":"/c"},{"op":"add","path":"/d","value":null}]`},
		{"null and absent", `{"a":null}`, `{}`, `[{"op":"remove","path":"/a"}]`},
		{"odd names", `{}`, `{"a/b~c":{"\"":"\u0001"},"":1}`, `[{"op":"add","path":"/a~1b~0c","value":{"\"":"\u0001"}},{"op":"add","path":"/","value":1}]`},
		{"put into an array", `[1,2,3]`, `[1,9,2,3]`, `[{"op":"add","path":"/1","value":9}]`},
		{"taken out of an array", `[1,2,3,4]`, `[1,4]`, `[{"op":"remove","path":"/1"},{"op":"remove","path":"/1"}]`},
		{"within an array", `[{"n":"a","v":1},{"n":"b","v":1}]`, `[{"n":"a","v":1},{"n":"b","v":2},{"n":"c"}]`, `[{"op":"replace","path":"/1/v","value":2},{"op":"add","path":"/2","value":{"n":"c"}}]`},
		{"another kind", `{"a":1}`, `[]`, `[{"op":"replace","path":"","value":[]}]`},
		{"a string and a number", `["1"]`, `[1]`, `[{"op":"replace","path":"/0","value":1}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Patch([]byte(test.before), []byte(test.after))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
	for name, bad := range map[string]string{"twice": `{"a":1,"a":2}`, "two": `{} {}`, "none": ``, "cut": `{"a":`, "deep": strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		if got, err := Patch([]byte(`{}`), []byte(bad)); err == nil {
			t.Errorf("%s: got %s and no error", name, got)
		}
		if got, err := Patch([]byte(bad), []byte(`{}`)); err == nil {
			t.Errorf("%s before: got %s and no error", name, got)
		}
	}
}

// FuzzPatch applies what Patch returns with somebody else's library.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":null}],"c":"x"}`), []byte(`{"a":[2,{"b":1}],"d":{}}`))
	f.Add([]byte(`[[],[1],[1,2]]`), []byte(`[[1,2],[],[[]]]`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		patch, err := Patch(before, after)
		if err != nil || patch == nil {
			return
		}
		from, err := parseTree(before)
		if err != nil {
			t.Fatal(err)
		}
		if kind := from.kind; kind != '{' && kind != '[' || strings.Contains(string(patch), `"path":""`) {
			return // the library patches objects and arrays only
		}
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		options := jsonpatch.NewApplyOptions()
		options.SupportNegativeIndices = false
		got, err := decoded.ApplyWithOptions(before, options)
		if err != nil {
			t.Fatalf("%s to %s with %s: %v", before, after, patch, err)
		}
		// The library makes U+FFFD of a surrogate that stands alone, and so does ours.
		if left, err := Patch(got, after); err != nil || left != nil {
			t.Fatalf("%s to %s with %s came to %s, %s is left, %v", before, after, patch, got, left, err)
		}
	})
}
