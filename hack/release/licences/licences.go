// Package licences collects the licence texts of everything that is linked into a
// program, and says which licences they are.
package licences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

// Standard is the path that Go's standard library stands under.
const Standard = "std"

// Module is a module that is linked in.
type Module struct {
	Path, Version string
	// Licences are SPDX identifiers, sorted.
	Licences []string
	// Texts are its licences and notices, by their paths in the module.
	Texts []files.File
}

// Collect finds the modules that packages of the work tree at root are built from for a
// platform, the main module left out and the standard library among them, sorted by
// path. A module without a licence, or with one that is not known, is an error.
func Collect(ctx context.Context, root string, p product.Platform, packages ...string) ([]Module, error) {
	found, err := list(ctx, root, p, packages...)
	if err != nil {
		return nil, err
	}
	var out []Module
	var errs []error
	for _, name := range sortedKeys(found) {
		m, err := found[name].collect()
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, m)
	}
	return out, errors.Join(errs...)
}

// source is a module on the disk, and those of its folders that packages are built from.
type source struct {
	path, version, dir string
	folders            map[string]bool
}

func sortedKeys(m map[string]*source) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func list(ctx context.Context, root string, p product.Platform, packages ...string) (map[string]*source, error) {
	run := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Env = root, p.Environment()
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
		}
		return out, nil
	}
	listed, err := run(append([]string{"list", "-deps", "-json=Dir,Standard,Module"}, packages...)...)
	if err != nil {
		return nil, err
	}
	goroot, err := run("env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	installed := strings.Fields(string(goroot))
	if len(installed) != 2 {
		return nil, fmt.Errorf("go env says %q; GOROOT and GOVERSION are wanted", goroot)
	}
	found := map[string]*source{Standard: {path: Standard, version: installed[1], dir: installed[0], folders: map[string]bool{installed[0]: true}}}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var one struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
				Replace            *struct{ Path string }
			}
		}
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		m := one.Module
		switch {
		case one.Standard || m == nil || m.Main:
			continue
		case m.Replace != nil:
			return nil, fmt.Errorf("%s is replaced by %s: whose licence that is is not known", m.Path, m.Replace.Path)
		case found[m.Path] == nil:
			found[m.Path] = &source{path: m.Path, version: m.Version, dir: m.Dir, folders: map[string]bool{}}
		}
		found[m.Path].folders[one.Dir] = true
	}
}

var (
	isLicence = regexp.MustCompile(`(?i)^(?:licen[cs]e|copying|unlicense)(?:[-._].*)?$`)
	isNotice  = regexp.MustCompile(`(?i)^(?:notice|patents|copyright)(?:[-._].*)?$`)
	// notOfCode is what is called like a licence and is code, or is the licence of pages.
	notOfCode = regexp.MustCompile(`(?i)\.(?:go|s|py|sh|tmpl|ya?ml|json|docs)$`)
)

// collect reads what stands in the folders of packages and in those above them, up to the
// module's own.
func (s *source) collect() (Module, error) {
	m := Module{Path: s.path, Version: s.version}
	folders := map[string]bool{}
	for dir := range s.folders {
		for ; strings.HasPrefix(dir, s.dir) && !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return m, err
		}
		for _, e := range entries {
			licence := isLicence.MatchString(e.Name())
			if e.IsDir() || notOfCode.MatchString(e.Name()) || !licence && !isNotice.MatchString(e.Name()) {
				continue
			}
			name := filepath.Join(dir, e.Name())
			text, err := os.ReadFile(name)
			if err != nil {
				return m, err
			}
			inside, err := filepath.Rel(s.dir, name)
			if err != nil {
				return m, err
			}
			m.Texts = append(m.Texts, files.File{Path: filepath.ToSlash(inside), Mode: 0o644, Data: text})
			if !licence {
				continue
			}
			ids, err := Recognise(text)
			if err != nil {
				return m, fmt.Errorf("%s@%s: %s: %w", s.path, s.version, filepath.ToSlash(inside), err)
			}
			m.Licences = append(m.Licences, ids...)
		}
	}
	if len(m.Licences) == 0 {
		return m, fmt.Errorf("%s@%s has no licence", s.path, s.version)
	}
	slices.Sort(m.Licences)
	m.Licences = slices.Compact(m.Licences)
	slices.SortFunc(m.Texts, func(a, b files.File) int { return strings.Compare(a.Path, b.Path) })
	return m, nil
}

// Files are the texts of modules below a folder, with a list of what has which licence.
func Files(folder string, modules []Module) []files.File {
	var out []files.File
	var index strings.Builder
	for _, m := range modules {
		name := m.Path + "@" + m.Version
		fmt.Fprintf(&index, "%s  %s\n", name, Expression(m.Licences...))
		for _, text := range m.Texts {
			text.Path = path.Join(folder, name, text.Path)
			out = append(out, text)
		}
	}
	return append(out, files.File{Path: path.Join(folder, "index.txt"), Mode: 0o644, Data: []byte(index.String())})
}
