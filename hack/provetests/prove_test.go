package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// A repository with a fault, and a commit that mends it with tests of three kinds.
func TestProve(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("go.mod", "module p\n\ngo 1.26\n")
	write("p.go", "package p\n\nfunc double(n int) int { return n }\n")
	write("p_test.go", "package p\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) {}\n")
	git("add", ".")
	git("commit", "-q", "-m", "begin")
	write("p.go", "package p\n\nfunc double(n int) int { return 2 * n }\n")
	write("p_test.go", `package p

import "testing"

func TestOld(t *testing.T) {}

func TestDouble(t *testing.T) {
	for name, n := range map[string]int{"zero": 0, "three": 3} {
		t.Run(name, func(t *testing.T) {
			if double(n) != n+n {
				t.Error("is not doubled")
			}
		})
	}
}

func TestZero(t *testing.T) {
	if double(0) != 0 {
		t.Error("is not zero")
	}
}
`)
	git("commit", "-q", "-a", "-m", "mend")

	r := repository{"."}
	packages, err := r.changedTests(t.Context(), "HEAD^", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 1 || !slices.Equal(packages[0].tests, []string{"TestDouble", "TestZero"}) {
		t.Fatalf("changed are %+v", packages)
	}
	before, remove, err := r.checkout(t.Context(), "HEAD^")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if err := before.takeTests(t.Context(), r, "HEAD^", "HEAD"); err != nil {
		t.Fatal(err)
	}
	got, err := before.test(t.Context(), packages[0], time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	want := []result{{"TestDouble/three", fails}, {"TestZero", passes}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, %v expected", got, want)
	}
	if proved, err := prove(t.Context(), "HEAD", "", time.Minute); err != nil || !proved {
		t.Errorf("the commit is not proved: %v", err)
	}
	if proved, err := prove(t.Context(), "HEAD", "HEAD", time.Minute); err == nil {
		t.Errorf("a commit without tests: %v", proved)
	}
}
