package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPhrases has each phrase found in what used to be written, and not in what is good
// English.
func TestPhrases(t *testing.T) {
	for _, c := range []struct{ bad, found, good string }{
		{"X is no Kubernetes name", "is no Kubernetes", "X is not a Kubernetes name"},
		{"they are no lists", "are no lists", "they are no longer lists"},
		{"it can be no kind", "can be no kind", "there is no kind"},
		{"a value is no number", "is no number", "it is no larger than that"},
		{"it was no answer", "was no answer", "there must be no answer, there has been no answer"},
		{"it holds for its namespace alone.", "namespace alone.", "a digest alone would not do"},
		{"| tests alone |", "tests alone |", "it is left alone. It stands alone."},
		{`"in the namespace alone"`, `namespace alone"`, "if alone, none := one(); call(alone)"},
		{"for those alone who ask", "those alone", "for only those who ask"},
		{"it is kept for ever", "for ever", "it is kept forever, for every one"},
		{"ask anew", "ask anew", "ask again"},
		{"the key is not taken", "is not taken", "it is not taken away, and not taken for another"},
		{"at most 5 bytes are taken", "at most 5 bytes are taken", "the name is taken"},
		{"where that cannot be told", "cannot be told", "they cannot be told apart"},
		{"40 small letters", "small letters", "40 lower case letters"},
		{"somebody that may", "somebody that", "somebody who may"},
		{"it holds nobody to anything", "nobody to anything", "it holds no one to anything"},
		{"all but for one", "but for", "all except for one"},
		{"in the place of it", "in the place of", "in place of it"},
		{"for want of a cluster", "for want of", "as there is no cluster"},
		{"it cannot be had", "cannot be had", "it had to be"},
	} {
		got := find("a.go", "first\n"+c.bad+"\n")
		if len(got) != 1 || got[0].found != c.found || got[0].line != 2 || got[0].write == "" {
			t.Errorf("%q: %+v, want %q on line 2", c.bad, got, c.found)
		}
		if got := find("a.go", c.good+"\n"); len(got) != 0 {
			t.Errorf("%q: %+v", c.good, got)
		}
	}
}

// TestWrapped finds phrases that go on in the next line of a comment.
func TestWrapped(t *testing.T) {
	for text, found := range map[string]string{
		"// X is no\n// name.":               "is no name",
		"\t// one that is\n\t// no name":     "is no name",
		"# it is kept for\n# ever":           "for ever",
		"it holds for its namespace\nalone.": "namespace alone.",
	} {
		if got := find("a.go", text); len(got) != 1 || got[0].found != found || got[0].line != 1 {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := find("a.go", "what is there\n// is no longer asked"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestExceptions holds every exception to a place that there is, and to a reason.
func TestExceptions(t *testing.T) {
	for _, e := range exceptions {
		text, err := os.ReadFile(filepath.Join("../..", e.path))
		if info, statErr := os.Stat(filepath.Join("../..", e.path)); statErr == nil && info.IsDir() {
			text, err = nil, nil
		}
		if err != nil || !bytes.Contains(text, []byte(e.part)) || e.reason == "" {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if got := find("docs/reference.md", "it is no name"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := find("docs/other.md", "it is no name"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestRun checks the files that git knows, and says where.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(arguments ...string) {
		t.Helper()
		command := exec.Command("git", arguments...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write("a.md", "first\nask anew\n")
	write("b.bin", "ask anew")
	git("init", "-q")
	git("add", ".")
	write("c.md", "ask anew")
	var out bytes.Buffer
	clean, err := run(&out, dir)
	if want := "a.md:2: \"ask anew\": write \"again\"\n"; err != nil || clean || out.String() != want {
		t.Errorf("%t, %v: %q, want %q", clean, err, out.String(), want)
	}
	write("a.md", "ask again\n")
	out.Reset()
	if clean, err := run(&out, dir); err != nil || !clean || out.Len() != 0 {
		t.Errorf("%t, %v: %q", clean, err, out.String())
	}
	if _, err := run(&out, filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that is not there is clean")
	}
}
