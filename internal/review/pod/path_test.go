package pod

import (
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	tests := []struct{ text, want, err string }{
		{".", ".", ""},
		{"spec.template", "spec.template", ""},
		{"spec.tasks[*].template", "spec.tasks[*].template", ""},
		{"spec.tasks[12].template", "spec.tasks[12].template", ""},
		{"spec.replicaSpecs.*.template", "spec.replicaSpecs.*.template", ""},
		{`spec["odd.name"].x`, `spec["odd.name"].x`, ""},
		{`spec["plain"][*][0]`, `spec.plain[*][0]`, ""},
		{`["spec"].a`, `spec.a`, ""},
		{`spec["a\"]b"]`, `spec["a\"]b"]`, ""},
		{`spec[""]`, `spec[""]`, ""},
		{"*.template", "*.template", ""},
		{"", "", `path "": it is empty; "." stands for the object itself`},
		{".spec", "", `a path begins with the name of a field, without a dot, at byte 0`},
		{"spec..template", "", `the name of a field belongs here`},
		{"spec.", "", `the name of a field belongs here`},
		{"spec.a/b", "", `"." or "[" belongs here, at byte 6`},
		{"spec.tasks[*]template", "", `"." or "[" belongs here, at byte 13`},
		{"spec.**", "", `"." or "[" belongs here, at byte 6`},
		{"[*].x", "", `an object is not a list`},
		{"[0]", "", `an object is not a list`},
		{"spec[", "", `a "[" without its "]"`},
		{"spec[]", "", `"*", the number of an element or a quoted name belongs here, at byte 5`},
		{"spec[-1]", "", `the number of an element`},
		{"spec[01]", "", `the number of an element`},
		{"spec[1e3]", "", `the number of an element`},
		{"spec[99999999999]", "", `the number of an element`},
		{"spec[name]", "", `a quoted name belongs here`},
		{"spec['name']", "", `a quoted name belongs here`},
		{"spec[`name`]", "", `a quoted name belongs here`},
		{`spec["a"`, "", `"]" belongs after the quoted name`},
		{`spec["a`, "", `a "[" without its "]"`},
		{`spec["a"x]`, "", `"]" belongs after the quoted name`},
		{"a" + strings.Repeat(".a", 32), "", "it has more than 32 steps"},
		{strings.Repeat("a", 2000), "", "it is longer than 1024 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			p, err := parsePath(tt.text)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, %v, want an error with %s", p, err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case p.String() != tt.want:
				t.Errorf("got %s, want %s", p, tt.want)
			}
		})
	}
}

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"spec.a[*].b", `spec["a"].*`, "spec[0][", ".", `a["\xff"]`, "*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePath(text)
		if err != nil {
			return
		}
		written := p.String()
		// Quoting may make it longer than a path can be.
		if again, err := parsePath(written); len(written) <= maxPathLength && (err != nil || again.String() != written) {
			t.Fatalf("%q is written %q and read as %v, %v", text, written, again, err)
		}
		_, _ = NewRegistry(Registration{Group: "x", Kind: "X", Paths: []string{text}})
	})
}
