// Package facts says what is being released: which version, of which commit, of what
// time. Nothing else may differ between two builds of it.
package facts

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// Source is where the sources are.
const Source = "https://github.com/sallyport-io/sallyport"

// Facts are what is written into binaries, archives and images.
type Facts struct {
	// Version is a semantic version with a v in front.
	Version string
	// Revision is the commit, with "-modified" behind it if the tree has changes.
	Revision string
	// Time is when the commit was made, or what SOURCE_DATE_EPOCH says.
	Time time.Time
}

// modified is what a revision ends in that was built with changes.
const modified = "-modified"

// Commit is the revision if it is all that was built, and otherwise empty.
func (f Facts) Commit() string {
	if strings.HasSuffix(f.Revision, modified) {
		return ""
	}
	return f.Revision
}

// Read finds the facts of the work tree at dir. VERSION and SOURCE_DATE_EPOCH of the
// environment stand above what git says. An error says which of them is wrong.
func Read(ctx context.Context, dir string, env func(string) string) (Facts, error) {
	git := func(args ...string) (string, error) {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = dir
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return Facts{}, err
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return Facts{}, err
	}
	changes, err := git("status", "--porcelain")
	if err != nil {
		return Facts{}, err
	}
	described, err := git("describe", "--tags", "--always")
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Version: fromTag(described), Revision: revision}
	if changes != "" {
		f.Version, f.Revision = f.Version+"-dirty", f.Revision+modified
	}
	if given := env("VERSION"); given != "" {
		f.Version = given
	}
	if err := checkVersion(f.Version); err != nil {
		return Facts{}, err
	}
	if given := env("SOURCE_DATE_EPOCH"); given != "" {
		seconds = given
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || epoch < 0 {
		return Facts{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; a number of seconds since 1970 is right", seconds)
	}
	f.Time = time.Unix(epoch, 0).UTC()
	return f, nil
}

// fromTag makes a version of what git describes a commit as: of the tag, or before any
// release if there is none.
func fromTag(described string) string {
	if checkVersion(described) == nil {
		return described
	}
	return "v0.0.0-g" + described
}

// checkVersion refuses what a plugin index, a tag of an image or a module would not take.
func checkVersion(v string) error {
	_, err := version.ParseSemantic(v)
	if err != nil || !strings.HasPrefix(v, "v") || strings.Contains(v, "+") {
		return fmt.Errorf("VERSION is %q; a semantic version with a v in front and no + is right, as v1.2.3", v)
	}
	return nil
}
