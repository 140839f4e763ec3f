package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestCopies holds what the chart renders to what config/ ships, byte by byte.
func TestCopies(t *testing.T) {
	wanted, err := copies(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rbac/clusterrole.yaml", "rbac/people/sessions.yaml", "wiring/ruleswebhookconfigurations.yaml", "crd/sallyport.io_denypolicies.yaml"} {
		if len(wanted[name]) == 0 {
			t.Errorf("%s is not among the sources", name)
		}
	}
	found := map[string][]byte{}
	dir := filepath.Join(root, copiesDir)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range wanted {
		if string(found[name]) != string(content) {
			t.Errorf("%s/%s is another than config/%s; run make generate", copiesDir, name, name)
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("%s/%s is a copy of nothing; run make generate", copiesDir, name)
	}
}

// TestEveryCopyIsRendered finds a file of config/rbac or config/wiring that no template
// names.
func TestEveryCopyIsRendered(t *testing.T) {
	wanted, err := copies(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "charts/sallyport/templates/*"))
	if err != nil {
		t.Fatal(err)
	}
	var templates strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		templates.Write(content)
	}
	for name := range wanted {
		all := "files/" + filepath.ToSlash(filepath.Dir(name)) + "/*.yaml"
		if !strings.Contains(templates.String(), `"files/`+name+`"`) && !strings.Contains(templates.String(), `"`+all+`"`) {
			t.Errorf("no template renders config/%s", name)
		}
	}
}

func TestDocumentation(t *testing.T) {
	want, err := documentation(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what values.yaml says; run make generate (-values.yaml +page):\n%s", page, diff)
	}
}

func TestTable(t *testing.T) {
	got, err := table([]byte(`# About all of it.

# Whether
# it is so: yes | no.
first: yes
group:
  # Which one.
  which: ""
# A thing that is what it is.
thing: {a: {b: [1, 2]}}
# Long.
long: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]
`))
	want := "| value | default | what it is |\n|---|---|---|\n" +
		"| `first` | `\"yes\"` | Whether it is so: yes \\| no. |\n" +
		"| `group.which` | `\"\"` | Which one. |\n" +
		"| `thing` | `{\"a\":{\"b\":[1,2]}}` | A thing that is what it is. |\n" +
		"| `long` | see values.yaml | Long. |\n"
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct{ values, says string }{
		{"group:\n  # So.\n  a: 1\n  b: 2\n", "line 4: group.b has no comment"},
		{"empty: {}\n", "line 1: empty has no comment"},
		{"a: [\n", "yaml"},
	} {
		if _, err := table([]byte(c.values)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.values, err, c.says)
		}
	}
}

// TestRun brings a tree up to date in which a copy was changed and another is left over.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"crd/a.yaml", "rbac/a.yaml", "rbac/features/a.yaml", "rbac/people/a.yaml", "wiring/xwebhookconfiguration.yaml"} {
		write("config/"+name, name)
	}
	write(copiesDir+"/crd/a.yaml", "changed")
	write(copiesDir+"/crd/gone.yaml", "left over")
	write(valuesFile, "# So.\na: 1\n")
	write(page, "before\n"+begins+"old\n"+ends+"after\n")
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, copiesDir, "crd/a.yaml")); err != nil || string(content) != "crd/a.yaml" {
		t.Errorf("%q %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(dir, copiesDir, "crd/gone.yaml")); !os.IsNotExist(err) {
		t.Errorf("what is a copy of nothing is still there: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil || !strings.Contains(string(content), "| `a` | `1` | So. |") || strings.Contains(string(content), "old") || !strings.HasSuffix(string(content), "after\n") {
		t.Errorf("%s %v", content, err)
	}
	write(page, "no comments\n")
	if err := run(dir); err == nil || !strings.Contains(err.Error(), "two comments") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "config/rbac/people")); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err == nil || !strings.Contains(err.Error(), "config/rbac/people/*.yaml matches nothing") {
		t.Errorf("%v", err)
	}
}
