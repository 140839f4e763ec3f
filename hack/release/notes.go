package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-io/sallyport/hack/release/facts"
)

func notesCommand(ctx context.Context, set *flag.FlagSet, out io.Writer, env func(string) string) func() error {
	root := set.String("root", ".", "the work tree")
	return func() error {
		f, err := facts.Read(ctx, *root, env)
		if err != nil {
			return err
		}
		changelog, err := os.ReadFile(filepath.Join(*root, "CHANGELOG.md"))
		if err != nil {
			return err
		}
		section, err := notes(string(changelog), f.Version)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, section)
		return err
	}
}

// notes is the section of a changelog about a version. A version that has none, or an
// empty one, is an error.
func notes(changelog, version string) (string, error) {
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	_, section, found := strings.Cut("\n"+changelog, "\n"+heading)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no heading %q", heading)
	}
	_, section, _ = strings.Cut(section, "\n")
	section, _, _ = strings.Cut("\n"+section, "\n## ")
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing below %q", heading)
	}
	return section, nil
}
