// Package chart_test holds charts/sallyport to what it is made from and to what an API
// server and Sallyport itself say of what it comes to. Helm's own library renders it, in
// a program of its own (test/render).
package chart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/test/lab"
)

// own is the namespace that the files of config/ are written for, and guard another one.
const (
	own   = "sallyport-system"
	guard = "guard"
)

const chart = "../../charts/sallyport"

// sets are the files of values that stand for what people install.
var sets = []string{"minimal", "ha", "managed", "observe", "everything"}

// renderer and binary are the programs that render the chart, and that it installs.
var (
	renderer, binary string
	product          lab.Product
)

func TestMain(m *testing.M) {
	status, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(status)
}

// build makes the programs, runs the tests, and takes the programs away again.
func build(m *testing.M) (status int, err error) {
	dir, err := os.MkdirTemp("", "sallyport-chart-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	renderer = filepath.Join(dir, "render")
	command := exec.Command("go", "build", "-trimpath", "-o", renderer, ".")
	command.Dir = "../render"
	if output, err := command.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("test/render does not build: %w\n%s", err, output)
	}
	if product, err = lab.BuildProduct(context.Background(), dir); err != nil {
		return 0, err
	}
	binary = product.Binary
	return m.Run(), nil
}

// absolute is a path wherever a program stands that is given it.
func absolute(t *testing.T, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

// set is the file with a set of values.
func set(name string) string { return filepath.Join("testdata", name+".yaml") }

// file writes values into a file.
func file(t *testing.T, values string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(name, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// renders are what renders came to: the sets are looked at by many tests.
var renders sync.Map

// render renders the chart into a namespace by files of values.
func render(t *testing.T, namespace string, values ...string) string {
	t.Helper()
	key, flags := namespace, []string{"-namespace", namespace}
	for _, file := range values {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		key += "\x00" + string(content)
		flags = append(flags, "-values", file)
	}
	if rendered, ok := renders.Load(key); ok {
		return rendered.(string)
	}
	rendered, err := try(flags...)
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	renders.Store(key, rendered)
	return rendered
}

// try renders the chart, with flags of the renderer before it, and returns what it
// prints, or what it is refused with.
func try(flags ...string) (rendered string, err error) {
	var out, errs bytes.Buffer
	command := exec.Command(renderer, append(flags, chart)...)
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}

// documents takes a stream of YAML apart.
func documents(rendered string) []string {
	var found []string
	for document := range strings.SplitSeq("\n"+rendered, "\n---\n") {
		if strings.TrimSpace(document) != "" {
			found = append(found, document)
		}
	}
	return found
}

// objects are the objects of a stream of YAML. A key that stands twice is an error.
func objects(t *testing.T, rendered string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, document := range documents(rendered) {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		found = append(found, o)
	}
	return found
}

// one decodes the object of a kind with a name into a type of Kubernetes, strictly.
func one[T any](t *testing.T, rendered, kind, name string) *T {
	t.Helper()
	for _, document := range documents(rendered) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if o.GetKind() != kind || o.GetName() != name {
			continue
		}
		into := new(T)
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
		return into
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// kinds counts the objects of each kind.
func kinds(t *testing.T, rendered string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, o := range objects(t, rendered) {
		found[o.GetKind()]++
	}
	return found
}
