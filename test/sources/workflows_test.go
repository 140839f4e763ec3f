package sources

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is as much of one as the tests look at.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		RunsOn         string            `json:"runs-on"`
		TimeoutMinutes int               `json:"timeout-minutes"`
		Needs          string            `json:"needs"`
		Permissions    map[string]string `json:"permissions"`
		Steps          []struct {
			Uses string         `json:"uses"`
			Run  string         `json:"run"`
			With map[string]any `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

// installed are the commands that the machines of workflows have.
var installed = []string{"gh", "mkdir"}

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):`)
	pinned     = regexp.MustCompile(`^actions/[a-z-]+@(?:v\d+|[0-9a-f]{40})$`)
	goVersion  = regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
)

// runnable reports whether a line of a workflow can be run: a target of make, a script of
// the repository, or what is installed.
func runnable(line string, targets []string, isScript func(string) bool) error {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return fmt.Errorf("it is empty")
	case words[0] == "make":
		for _, word := range words[1:] {
			if word == ">" {
				break
			}
			if !strings.Contains(word, "=") && !slices.Contains(targets, word) {
				return fmt.Errorf("the Makefile has no target %q", word)
			}
		}
		return nil
	case strings.Contains(words[0], "/"):
		if !isScript(words[0]) {
			return fmt.Errorf("%s is not a script that is there", words[0])
		}
		return nil
	case slices.Contains(installed, words[0]):
		return nil
	}
	return fmt.Errorf("%s is not known here; a target of make is what developers can run too", words[0])
}

func TestRunnable(t *testing.T) {
	isScript := func(path string) bool { return path == ".ci/run" }
	for line, want := range map[string]bool{
		"make lint": true, "make lint X=1 > file": true, "make other": false, "make lint other": false, ".ci/run": true, ".ci/other": false,
		"gh release": true, "curl x": false, "": false,
	} {
		if err := runnable(line, []string{"lint"}, isScript); (err == nil) != want {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestWorkflows holds workflows to what is there to run, to rights that are stated, and to
// actions that do not move under them from one major version to the next.
func TestWorkflows(t *testing.T) {
	read := func(path string) []byte {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var targets []string
	for _, found := range makeTarget.FindAllSubmatch(read("Makefile"), -1) {
		targets = append(targets, string(found[1]))
	}
	version := string(goVersion.FindSubmatch(read("go.mod"))[1])
	isScript := func(path string) bool {
		info, err := os.Stat(filepath.Join("../..", path))
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
	}
	var ran []string
	for _, name := range []string{"ci.yaml", "release.yaml"} {
		var w workflow
		text := read(".github/workflows/" + name)
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions are %v; contents: read is what a job needs that asks for no more", name, w.Permissions)
		}
		if bytes.Contains(text, []byte("pull_request_target")) {
			t.Errorf("%s runs what others wrote with rights of ours", name)
		}
		for id, job := range w.Jobs {
			if job.RunsOn == "" || job.TimeoutMinutes == 0 || len(job.Steps) == 0 {
				t.Errorf("%s: %s has no machine, no end or nothing to do", name, id)
			}
			if job.Needs != "" && len(w.Jobs[job.Needs].Steps) == 0 {
				t.Errorf("%s: %s needs %s, which is not there", name, id, job.Needs)
			}
			for i, step := range job.Steps {
				where := fmt.Sprintf("%s: jobs.%s.steps[%d]", name, id, i)
				switch {
				case step.Uses != "" && !pinned.MatchString(step.Uses):
					t.Errorf("%s uses %s: an action of the forge's own at a major version, or a full commit, is right", where, step.Uses)
				case strings.HasPrefix(step.Uses, "actions/setup-go@") && step.With["go-version"] != version:
					t.Errorf("%s sets up Go %v, and go.mod has %s", where, step.With["go-version"], version)
				case strings.Contains(step.Run, "${{"):
					t.Errorf("%s: what stands in ${{ }} is put into the script as it is; hand it over in env", where)
				}
				for line := range strings.Lines(step.Run) {
					ran = append(ran, strings.TrimSpace(line))
					if err := runnable(line, targets, isScript); err != nil {
						t.Errorf("%s: %q: %v", where, strings.TrimSpace(line), err)
					}
				}
			}
		}
	}
	for _, want := range []string{".ci/run", "make vulncheck", "make release", "make image", "make push"} {
		if !slices.Contains(ran, want) {
			t.Errorf("no workflow runs %s", want)
		}
	}
}

// TestIssueForms holds the forms to what the forge needs to show them.
func TestIssueForms(t *testing.T) {
	forms, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yaml")
	if err != nil || len(forms) < 3 {
		t.Fatalf("there are %d forms, %v", len(forms), err)
	}
	for _, file := range forms {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var form struct {
			Name        string   `json:"name"`
			Description string   `json:"description"`
			Labels      []string `json:"labels"`
			Body        []struct {
				Type       string `json:"type"`
				ID         string `json:"id"`
				Attributes struct {
					Label       string `json:"label"`
					Description string `json:"description"`
					Value       string `json:"value"`
					Render      string `json:"render"`
				} `json:"attributes"`
				Validations struct {
					Required bool `json:"required"`
				} `json:"validations"`
			} `json:"body"`
		}
		if err := yaml.UnmarshalStrict(text, &form); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if form.Name == "" || form.Description == "" || len(form.Body) == 0 {
			t.Errorf("%s lacks a name, a description or a body", file)
		}
		ids := map[string]bool{}
		for i, field := range form.Body {
			switch a := field.Attributes; {
			case !slices.Contains([]string{"markdown", "textarea", "input"}, field.Type):
				t.Errorf("%s: body[%d] has the type %q", file, i, field.Type)
			case field.Type == "markdown" && a.Value == "", field.Type != "markdown" && (a.Label == "" || field.ID == "" || ids[field.ID]):
				t.Errorf("%s: body[%d] has no text, no label, or an id that is not its own", file, i)
			}
			ids[field.ID] = true
		}
	}
}
