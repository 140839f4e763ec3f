package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `package sample

func may(a, b bool, n int) bool {
	if a {
		return false
	}
	switch {
	case n > 3 || b:
		return true
	}
	for range n {
		if !(a && b) {
			continue
		}
		n++
	}
	return a || b && n > 1
}
`

func TestFind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.go")
	if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	guards, err := findIn(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range guards {
		got = append(got, strings.TrimPrefix(g.key, file+" "))
	}
	want := []string{
		"may: if a",
		"may: case n > 3 || b", "may: || n > 3", "may: || b",
		"may: if !(a && b)", "may: && a", "may: && b",
		"may: || a", "may: || b && n > 1", "may: && b #2", "may: && n > 1",
	}
	// The order is that of the walk: each is there once.
	if len(got) != len(want) {
		t.Errorf("%d guards are found, %d expected", len(got), len(want))
	}
	for _, key := range want {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+key+"\n") {
			t.Errorf("%q is not found among\n%s", key, strings.Join(got, "\n"))
		}
	}
}

// An instrumented package does what it did, except for the one guard that is out.
func TestInstrument(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module sample\n\ngo 1.26\n")
	write("sample.go", sample)
	write("sample_test.go", `package sample

import "testing"

func TestMay(t *testing.T) {
	if may(true, true, 0) {
		t.Error("a does not end it")
	}
}

func TestElse(t *testing.T) {
	if !may(false, true, 1) {
		t.Error("b is not enough")
	}
}
`)
	a := area{"sample", ".", []string{"."}}
	guards, err := find(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	report := newReport(&out, nil, true)
	report.areas = []area{a}
	if err := try(t.Context(), a, guards, options{limit: 1 << 36}, report); err != nil {
		t.Fatal(err)
	}
	for key, open := range map[string]bool{"may: if a": false, "may: || b": false, "may: || n > 3": true} {
		if got := strings.Contains(out.String(), "survived, and no reason is given: sample.go "+key+"\n"); got != open {
			t.Errorf("%q: survived is %v, %v expected, of:\n%s", key, got, open, out.String())
		}
	}
	if report.held == 0 || report.held+report.open != len(guards) {
		t.Errorf("%d held and %d survivors of %d guards", report.held, report.open, len(guards))
	}
}

func TestChosen(t *testing.T) {
	for match, want := range map[string]bool{"": true, "a.go": true, "x.go,a.go f": true, "x.go,b.go": false, "g: if": false} {
		if got := (options{match: match}).chosen(guard{key: "in/a.go f: if x"}); got != want {
			t.Errorf("%q: %v, want %v", match, got, want)
		}
	}
}

func TestReasons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "survivors.txt")
	if err := os.WriteFile(path, []byte("# a comment\n\nin/a.go f: if x\tonly saves time\nin/a.go f: if gone\twas there once\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	known, err := readReasons(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		survivors []string
		whole, ok bool
		says      string
	}{
		{"each has its reason", []string{"in/a.go f: if x", "in/a.go f: if gone"}, true, true, "2 survivors with a reason, 0 without"},
		{"one without", []string{"in/a.go f: if x", "in/a.go f: if gone", "in/a.go f: if y"}, true, false, "no reason is given: in/a.go f: if y"},
		{"a reason too many", []string{"in/a.go f: if x"}, true, false, "what is not a survivor: in/a.go f: if gone"},
		{"a part was tried", []string{"in/a.go f: if x"}, false, true, "1 survivors with a reason, 0 without"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out, known, c.whole)
			r.areas = []area{{dir: "in"}}
			for _, key := range c.survivors {
				r.add(guard{key: key, file: "in/a.go"}, survived)
			}
			if ok := r.end(); ok != c.ok || !strings.Contains(out.String(), c.says) {
				t.Errorf("%v: %s", ok, out.String())
			}
		})
	}
	if err := os.WriteFile(path, []byte("in/a.go f: if x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readReasons(path); err == nil || !strings.Contains(err.Error(), ":1:") {
		t.Errorf("a line without a reason: %v", err)
	}
}
