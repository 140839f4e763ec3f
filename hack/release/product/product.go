// Package product builds the program of a release: the same bytes for the same commit,
// Go version and platform, wherever the work tree is.
package product

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/internal/app/version"
)

// Package is what is built.
const Package = "./cmd/sallyport"

// Platform is an operating system and an architecture, in the words of Go.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// ParsePlatform reads os/arch.
func ParsePlatform(s string) (Platform, error) {
	system, arch, ok := strings.Cut(s, "/")
	if !ok || system == "" || arch == "" || strings.Contains(arch, "/") {
		return Platform{}, fmt.Errorf("%q is not a platform; os/arch is right, as linux/amd64", s)
	}
	return Platform{system, arch}, nil
}

// Binary is the name of the program there.
func (p Platform) Binary() string {
	if p.OS == "windows" {
		return "sallyport.exe"
	}
	return "sallyport"
}

// Environment is what the go command is to be run with for the platform: whatever of the
// caller's environment changes what comes out is set or taken out.
func (p Platform) Environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOFLAGS=-trimpath -buildvcs=false -mod=readonly",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
}

// LinkerFlags have the program know which it is. The linker does not tell of a variable
// that is not there; TestBuiltTwice does.
func LinkerFlags(f facts.Facts) string {
	pkg := reflect.TypeFor[version.Details]().PkgPath()
	return fmt.Sprintf("-s -w -buildid= -X %[1]s.version=%[2]s -X %[1]s.revision=%[3]s -X %[1]s.time=%[4]s",
		pkg, f.Version, f.Revision, f.Time.Format(time.RFC3339))
}

// Program is a program that was built.
type Program struct {
	Platform Platform
	Data     []byte
	// Build is what Go notes in it: the modules that are linked in, and how.
	Build *buildinfo.BuildInfo
}

// Build builds the work tree at root for a platform.
func Build(ctx context.Context, root string, f facts.Facts, p Platform) (*Program, error) {
	dir, err := os.MkdirTemp("", "sallyport-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, p.Binary())
	command := exec.CommandContext(ctx, "go", "build", "-ldflags", LinkerFlags(f), "-o", out, Package)
	command.Dir, command.Env = root, p.Environment()
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s does not build for %s: %w\n%s", Package, p, err, output)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return Read(p, data)
}

// Read reads what Go noted in a program, which is an error if it noted another platform.
func Read(p Platform, data []byte) (*Program, error) {
	build, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the program for %s: %w", p, err)
	}
	got := map[string]string{}
	for _, s := range build.Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": p.OS, "GOARCH": p.Arch, "CGO_ENABLED": "0"} {
		if got[key] != want {
			return nil, fmt.Errorf("the program for %s was built with %s=%q, want %q", p, key, got[key], want)
		}
	}
	return &Program{Platform: p, Data: data, Build: build}, nil
}
