package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestDocumented renders the values that pages show. On the page about managed clusters they
// stand beside the values that every such cluster needs, except where they say themselves
// how callers are told apart.
func TestDocumented(t *testing.T) {
	for _, page := range []struct {
		path   string
		blocks int
		beside string
	}{
		{"../../docs/helm.md", 5, ""},
		{"../../docs/managed-clusters.md", 4, "managed"},
	} {
		content, err := os.ReadFile(page.path)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(content), "```yaml\n")[1:]
		if len(parts) != page.blocks {
			t.Errorf("%s: %d blocks of values", page.path, len(parts))
		}
		for _, part := range parts {
			values, _, _ := strings.Cut(part, "```")
			args := []string{"-values", file(t, values)}
			if page.beside != "" && !strings.Contains(values, "callers:") {
				args = append([]string{"-values", set(page.beside)}, args...)
			}
			if _, err := try(args...); err != nil {
				t.Errorf("%s: %v\n%s", page.path, err, values)
			}
		}
	}
}

// TestSetsAreValues: what pages have people give by --set is a value of the chart.
func TestSetsAreValues(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(content, &values); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	given := regexp.MustCompile(`--set(?:-string|-file)?[ =]([A-Za-z.]+)=`)
	found := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range given.FindAllSubmatch(content, -1) {
			found++
			var at any = values
			for key := range strings.SplitSeq(string(one[1]), ".") {
				within, _ := at.(map[string]any)
				var is bool
				if at, is = within[key]; !is {
					t.Errorf("%s has --set %s, which is not a value of the chart", page, one[1])
					break
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d were found", found)
	}
}
