package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read collects what Manifests gives for a file: one line a document, one line a
// problem.
func read(t *testing.T, name, content string) []string {
	t.Helper()
	var lines []string
	for d, problems := range Parse(name, []byte(content)) {
		for _, p := range problems {
			lines = append(lines, "problem: "+p.Error())
		}
		if d != nil {
			lines = append(lines, d.Origin()+": "+string(d.Raw))
		}
	}
	return lines
}

func TestDocuments(t *testing.T) {
	tests := []struct {
		name, file, content string
		want                []string
	}{
		{"one", "a.yaml", "apiVersion: v1\nkind: Pod\n", []string{`a.yaml, document 1: {"apiVersion":"v1","kind":"Pod"}`}},
		{
			"several, with comments between, CRLF and a byte order mark", "a.yaml",
			"\uFEFF# head\r\n---\r\napiVersion: v1\r\nkind: A\r\n--- # next\r\n# nothing\r\n---\r\n\r\n---\r\napiVersion: v1\r\nkind: B\r\n...\r\n",
			[]string{`a.yaml, document 1: {"apiVersion":"v1","kind":"A"}`, `a.yaml, document 2: {"apiVersion":"v1","kind":"B"}`},
		},
		{
			"a marker in a block scalar is text", "a.yaml", "apiVersion: v1\nkind: A\ntext: |\n  ---\n  kind: B\n",
			[]string{`a.yaml, document 1: {"apiVersion":"v1","kind":"A","text":"---\nkind: B\n"}`},
		},
		{"no line end at the end", "a.yaml", "apiVersion: v1\nkind: A\n---", []string{`a.yaml, document 1: {"apiVersion":"v1","kind":"A"}`}},
		{"nothing", "a.yaml", "", nil},
		{"only comments", "a.yaml", "# a\n---\n# b\n", nil},
		{"null", "a.yaml", "---\nnull\n---\n~\n", nil},
		{
			"what follows the end of a document is read", "a.yaml", "apiVersion: v1\nkind: A\n...\napiVersion: v1\nkind: B\n",
			[]string{`a.yaml, document 1: {"apiVersion":"v1","kind":"A"}`, `a.yaml, document 2: {"apiVersion":"v1","kind":"B"}`},
		},
		{
			"booleans and numbers as kubectl reads them", "a.yaml",
			"apiVersion: v1\nkind: A\nv: [on, yes, off, No, 0x10, 010, 1_000, 1.0, 1e3, 2001-01-01, '1', ~, y]\n1: a\ntrue: b\n",
			[]string{`a.yaml, document 1: {"1":"a","apiVersion":"v1","kind":"A","true":"b","v":[true,true,false,false,16,8,1000,1,1000,"2001-01-01","1",null,true]}`},
		},
		{
			"anchors, aliases and merge keys", "a.yaml", "apiVersion: v1\nkind: A\na: &a {x: 1, z: 2}\nb: *a\nc:\n  <<: *a\n  z: 3\n",
			[]string{`a.yaml, document 1: {"a":{"x":1,"z":2},"apiVersion":"v1","b":{"x":1,"z":2},"c":{"x":1,"z":3},"kind":"A"}`},
		},
		{"flow style", "a.yaml", "{apiVersion: v1, kind: A}", []string{`a.yaml, document 1: {"apiVersion":"v1","kind":"A"}`}},
		{
			"JSON objects one after the other", "a.yaml", "{\"apiVersion\":\"v1\",\n\t\"kind\":\"A\"}\n{\"apiVersion\":\"v1\",\"kind\":\"B\"}",
			[]string{"a.yaml, document 1: {\"apiVersion\":\"v1\",\n\t\"kind\":\"A\"}", `a.yaml, document 2: {"apiVersion":"v1","kind":"B"}`},
		},
		{
			"JSON between markers", "a.json", "---\n{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"B\"}\n",
			[]string{`a.json, document 1: {"apiVersion":"v1","kind":"A"}`, `a.json, document 2: {"apiVersion":"v1","kind":"B"}`},
		},
		{
			"a List", "a.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: v1\n    kind: B\n",
			[]string{`a.yaml, document 1, items[0]: {"apiVersion":"v1","kind":"A"}`, `a.yaml, document 1, items[1].items[0]: {"apiVersion":"v1","kind":"B"}`},
		},
		{"an empty List", "a.yaml", "apiVersion: v1\nkind: List\n", nil},
		{
			"a typed list, whose items name no kind", "a.json", `{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]}`,
			[]string{`a.json, document 1, items[0]: {"metadata":{"name":"a"}}`},
		},
		{
			"a kind that only sounds like a list", "a.yaml", "apiVersion: example.com/v1\nkind: BlockList\nspec: {}\n",
			[]string{`a.yaml, document 1: {"apiVersion":"example.com/v1","kind":"BlockList","spec":{}}`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(t, test.file, test.content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestItemsOfATypedListHaveItsKind(t *testing.T) {
	for d := range Parse("a.json", []byte(`{"apiVersion":"apps/v1","kind":"DeploymentList","items":[{"metadata":{"name":"a","namespace":"b"}}]}`)) {
		got := d.GVK.String() + " " + d.Namespace + "/" + d.Name
		if want := "apps/v1, Kind=Deployment b/a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLineOf(t *testing.T) {
	yaml := "# head\n---\n# comment\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n  - name: b\n    image: x\nmetadata:\n  labels:\n    example.com/team: x\n"
	json := "{\n\"apiVersion\": \"v1\",\n\"kind\": \"List\", \"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"A\"},\n\n{\"apiVersion\": \"v1\", \"kind\": \"B\",\n\"spec\": {\n\"a\": [1,\n2]}}\n]}"
	tests := []struct {
		file, content string
		item          int
		path          string
		want          int
	}{
		{"a.yaml", yaml, 0, "", 4},
		{"a.yaml", yaml, 0, "spec.containers[1].image", 10},
		{"a.yaml", yaml, 0, "spec.containers[1].securityContext.privileged", 9},
		{"a.yaml", yaml, 0, "spec.hostNetwork", 6},
		{"a.yaml", yaml, 0, `metadata.labels["example.com/team"]`, 13},
		{"a.yaml", yaml, 0, "metadata.labels[example.com/team]", 13},
		{"a.yaml", yaml, 0, "nowhere", 4},
		{"a.yaml", yaml, 0, "spec.containers[", 7},
		{"a.json", json, 0, "", 4},
		{"a.json", json, 1, "", 6},
		{"a.json", json, 1, "spec", 7},
		{"a.json", json, 1, "spec.a[1]", 9},
		{"a.json", json, 1, "spec.b", 7},
		{"b.yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n- kind: B\n  apiVersion: v1\n  x: 1\n", 1, "x", 8},
		{"b.yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  apiVersion: v1\n- kind: B\n  apiVersion: v1\n  x: 1\n", 1, "", 6},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.path, func(t *testing.T) {
			i := 0
			for d, problems := range Parse(test.file, []byte(test.content)) {
				if problems != nil {
					t.Fatal(problems)
				}
				if i == test.item {
					if got := d.LineOf(test.path); got != test.want {
						t.Errorf("line %d, want %d", got, test.want)
					}
				}
				i++
			}
		})
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	object := "apiVersion: v1\nkind: A\n"
	for _, name := range []string{"b.yml", "a.yaml", "C.YAML", "notes.txt", ".hidden.yaml", "sub/d.json", ".git/e.yaml", "..2024/f.yaml"} {
		content := object
		if strings.HasSuffix(name, ".json") {
			content = `{"apiVersion":"v1","kind":"A"}`
		}
		write(t, dir, name, content)
	}
	link(t, "..2024", filepath.Join(dir, "..data"))
	link(t, "..data/f.yaml", filepath.Join(dir, "f.yaml"))
	link(t, "a.yaml", filepath.Join(dir, "again.yaml"))
	link(t, ".", filepath.Join(dir, "circle"))
	link(t, "gone", filepath.Join(dir, "broken.yaml"))
	want := []string{"C.YAML", "a.yaml", "b.yml", "problem: broken.yaml: cannot be read: no such file or directory", "f.yaml", "sub/d.json", "notes.txt", "problem: no/where: cannot be read: no such file or directory", "standard input"}

	t.Chdir(dir)
	var got []string
	var problems []string
	for d, p := range Manifests([]string{".", "a.yaml", "notes.txt", "no/where", "-"}, strings.NewReader(object)) {
		if d != nil {
			got = append(got, d.File)
		}
		for i := range p {
			problems = append(problems, "problem: "+p[i].Error())
		}
	}
	var files, wrong []string
	for _, w := range want {
		if strings.HasPrefix(w, "problem") {
			wrong = append(wrong, w)
		} else {
			files = append(files, w)
		}
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wrong, problems); diff != "" {
		t.Error(diff)
	}
}

func TestStandardInputIsReadOnce(t *testing.T) {
	var got []string
	for _, p := range Manifests([]string{"-", "-"}, strings.NewReader("")) {
		got = append(got, p.Error())
	}
	if diff := cmp.Diff([]string{"standard input: is named twice; it can be read once"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestStopping makes sure that a consumer who has seen enough is left alone.
func TestStopping(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{},{}]}\n---\napiVersion: v1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		n := 0
		for range Manifests([]string{dir}, nil) {
			if n++; n == 1 {
				break
			}
		}
	}
}
