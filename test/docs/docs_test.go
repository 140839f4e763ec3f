package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/convert"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/test/lab"
)

const root = "../.."

// pages are README.md and everything below docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	read := func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages[filepath.ToSlash(name)] = string(content)
		return err
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		return read(path)
	})
	if err = errors.Join(err, read(filepath.Join(root, "README.md"))); err != nil {
		t.Fatal(err)
	}
	return pages
}

// blocks are all blocks of a language.
func blocks(t *testing.T, language string) []block {
	t.Helper()
	var found []block
	for file, page := range pages(t) {
		all, err := blocksOf(file, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if b.language == language {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page has a block of %s", language)
	}
	return found
}

func TestPoliciesLoad(t *testing.T) {
	policies := 0
	for _, b := range blocks(t, "yaml") {
		t.Run(b.name(), func(t *testing.T) {
			isPolicy := false
			for _, document := range strings.Split("\n"+b.text, "\n---\n") {
				var object struct {
					APIVersion string `json:"apiVersion"`
				}
				if err := yaml.Unmarshal([]byte(document), &object); err != nil {
					t.Fatalf("this is not YAML: %v", err)
				}
				isPolicy = isPolicy || strings.HasPrefix(object.APIVersion, v1alpha1.GroupVersion.Group+"/") || strings.HasPrefix(object.APIVersion, convert.Group+"/")
			}
			if !isPolicy {
				return
			}
			policies++
			loaded := load.Collect(load.Parse(b.name(), []byte(b.text)))
			_, problems := policy.Compile(loaded.Sources, pod.Default(), exception.Options{Began: time.Now()})
			for _, p := range append(loaded.Problems, problems...) {
				// The request that an answer is to may stand in another block.
				if p.Kind != exception.KindResponse || !strings.Contains(p.Detail, "there is no PolicyExceptionRequest") {
					t.Error(p.Error())
				}
			}
		})
	}
	if policies == 0 {
		t.Error("no page shows a policy")
	}
}

func TestCommands(t *testing.T) {
	for _, b := range blocks(t, "console") {
		t.Run(b.name(), func(t *testing.T) {
			if reason, skip := strings.CutPrefix(b.note, "norun"); skip {
				if !strings.Contains(reason, "cluster") {
					t.Errorf("norun %q: only what needs a cluster is not run, and the note says so", reason)
				}
				return
			}
			steps, err := stepsOf(b)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(steps); i++ {
				output, status := run(t, steps[i].command)
				if !matches(steps[i].output, output) {
					t.Errorf("%s prints something else (-page +program):\n%s", steps[i].command, cmp.Diff(linesOf(steps[i].output), linesOf(output)))
				}
				shown := "0"
				command := steps[i].command
				if i+1 < len(steps) && steps[i+1].command == askStatus {
					i++
					shown = strings.TrimSpace(steps[i].output)
				}
				if got := fmt.Sprint(status); got != shown {
					t.Errorf("%s ends with %s, and the page says %s", command, got, shown)
				}
			}
		})
	}
}

// bin is the directory that the program is built in.
var bin string

func TestMain(m *testing.M) {
	status, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(status)
}

// build makes the program, runs the tests, and takes it away again.
func build(m *testing.M) (status int, err error) {
	if bin, err = os.MkdirTemp("", "sallyport-docs-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(bin)
	if _, err := lab.BuildProduct(context.Background(), bin); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// run runs a command in the root of the repository and returns all that it
// prints, and its exit status.
func run(t *testing.T, line string) (string, int) {
	t.Helper()
	command := exec.Command("sh", "-c", line)
	command.Dir = root
	command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG=/nonexistent", "NO_COLOR=1")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}
	return output.String(), command.ProcessState.ExitCode()
}

// TestCodeStandsInExamples holds the Go of the pages to the examples, which are
// built by the commands beside it.
func TestCodeStandsInExamples(t *testing.T) {
	source := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		content, err := os.ReadFile(path)
		source[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(t, "go") {
		found := false
		for _, content := range source {
			found = found || strings.Contains(content, b.text)
		}
		if !found {
			t.Errorf("%s: no example has this code", b.name())
		}
	}
}
