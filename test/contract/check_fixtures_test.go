package contract

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCheckLibraryFixtures judges all fixtures of Kubernetes' own
// library, of every level and version, in one command. A fixture is judged by
// the rule for the namespace that it is put in: that of its level and version.
func TestCheckLibraryFixtures(t *testing.T) {
	t.Parallel()
	root := fixtureRoot(t)
	var fixtures []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		fixtures = append(fixtures, path)
		return nil
	})
	if err != nil || len(fixtures) < 4500 {
		t.Fatalf("%d fixtures found below %s: %v", len(fixtures), root, err)
	}

	dir := t.TempDir()
	rules := map[string]string{}
	want := map[string]string{}
	for i, path := range fixtures {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(rel, string(filepath.Separator))
		level, version, verdict := parts[0], parts[1], parts[2]
		namespace := level + "-" + strings.ReplaceAll(version, ".", "-")
		rules[namespace] = fmt.Sprintf("- name: %s\n  match: {any: [{resources: {kinds: [Pod], namespaces: [%s]}}]}\n  validate: {podSecurity: {level: %s, version: %s, probeHosts: kubernetes}}",
			namespace, namespace, level, version)
		name := fmt.Sprintf("fixture-%d", i)
		writeFile(t, filepath.Join(dir, "m", name+".yaml"), placed(t, path, namespace, name))
		want[name] = verdict + " " + rel
	}
	var text []string
	for _, rule := range rules {
		text = append(text, rule)
	}
	writeFile(t, filepath.Join(dir, "policy.yaml"), clusterPolicy("library", "Enforce", strings.Join(text, "\n")))

	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/m")
	j.expect(t, "deny")
	got := map[string]string{}
	for _, r := range j.Results {
		got[r.Resource.Name] = r.Status
	}
	for name, expected := range want {
		verdict, _, _ := strings.Cut(expected, " ")
		if got[name] != verdict {
			t.Errorf("status %q, want %s", got[name], expected)
		}
	}
}

// placed returns a fixture with another namespace and name.
func placed(t *testing.T, path, namespace, name string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata["namespace"], metadata["name"] = namespace, name
	return documents(t, object)
}

// fixtureRoot returns the directory of the library's fixtures in the module
// cache.
func fixtureRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/pod-security-admission").Output()
	if err != nil {
		t.Fatalf("finding k8s.io/pod-security-admission: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "test", "testdata")
}
