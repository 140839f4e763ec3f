package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestFaultOf(t *testing.T) {
	for _, tt := range []struct {
		name, value        string
		annotation, object bool // refused in the form ValidatedAnnotation, Resource
	}{
		{"empty", "", true, true},
		{"star", "*", true, true},
		{"star inside", "team-*", true, true},
		{"slash", "a/b", true, false},
		{"only slash", "/", true, false},
		{"newline", "a\nb", true, true},
		{"NUL", "a\x00", true, true},
		{"tab", "a\tb", true, true},
		{"DEL", "a\x7f", true, true},
		{"C1 control", "a\u0085", true, true},
		{"right to left override", "a\u202eb", true, true},
		{"zero width space", "a\u200bb", true, true},
		{"line separator", "a\u2028b", true, true},
		{"byte order mark", "\ufeffa", true, true},
		{"not UTF-8", "a\xff", true, true},
		{"replacement character", "a\ufffd", true, true},
		{"254 bytes", strings.Repeat("a", 254), true, true},
		{"253 bytes", strings.Repeat("a", 253), false, false},
		{"254 bytes of wide letters", strings.Repeat("ä", 127), true, true},
		{"spaces at the ends", " a ", false, false},
		{"only a space", " ", false, false},
		{"letters beyond ASCII", "überwachung", false, false},
		{"an address", "gcs@mycompany.gserviceaccount.com", false, false},
		{"an account", "team:app", false, false},
		{"dots", "..", false, false},
		{"percent", "a%2fb", false, false},
	} {
		if got := faultOf(tt.value, v1alpha1.ReviewValidatedAnnotation); (got != "") != tt.annotation {
			t.Errorf("%s: %q", tt.name, got)
		}
		if got := faultOf(tt.value, v1alpha1.ReviewResource); (got != "") != tt.object {
			t.Errorf("%s as a name: %q", tt.name, got)
		}
	}
}

func TestCompare(t *testing.T) {
	claim := func(key, value, path string) Claim { return Claim{Key: key, Value: value, Path: path} }
	before := []Claim{claim("k", "v", "a"), claim("k", "w", "a"), claim("l", "v", "a")}
	after := []Claim{claim("k", "v", "b"), claim("k", "V", "b"), claim("K", "w", "b")}
	d := Compare(before, after)
	want := Difference{Added: after[1:], Removed: before[1:], Same: after[:1]}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if same := Compare(before, before); same.Changed() || !d.Changed() {
		t.Error("what changed is not told")
	}
	if !Among(before[:1], after) || Among(before, after) || !Among(nil, nil) || Among(before, nil) {
		t.Error("what is among others is not told")
	}
}
