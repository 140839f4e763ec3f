package lab

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
)

// module is the path of the module whose lab this is.
const module = "github.com/sallyport-io/sallyport"

var binaries struct {
	sync.Mutex
	dir string
}

// Binaries builds the programs of the lab, where that has not been done yet, and
// returns the directory that they stand in: etcd, kube-apiserver,
// kube-controller-manager, kubectl and kubelet. Progress goes to stderr, since
// the first build on a machine takes minutes.
func Binaries(ctx context.Context) (string, error) {
	binaries.Lock()
	defer binaries.Unlock()
	if binaries.dir != "" {
		return binaries.dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	build := exec.CommandContext(ctx, filepath.Join(root, "lab", "build"))
	build.Stdout, build.Stderr = &out, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("lab/build: %w", err)
	}
	binaries.dir = strings.TrimSpace(out.String())
	return binaries.dir, nil
}

// Root returns the directory of the repository that the working directory stands
// in, found by its go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		for line := range strings.Lines(string(content)) {
			if strings.TrimSpace(line) == "module "+module {
				return dir, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s stands in no checkout of %s", start, module)
		}
	}
}
