package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// repository is a checkout.
type repository struct{ dir string }

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// changed lists the files that stand in to and differ from what stands in from.
func (r repository) changed(ctx context.Context, from, to string) ([]string, error) {
	out, err := r.git(ctx, "diff", "--name-only", "--no-renames", "--diff-filter=AM", from, to)
	return strings.Fields(out), err
}

// show is a file as it stands at a commit; empty if it does not stand there.
func (r repository) show(ctx context.Context, commit, file string) string {
	out, err := r.git(ctx, "show", commit+":"+file)
	if err != nil {
		return ""
	}
	return out
}

// checkout makes a checkout of a commit beside the repository.
func (r repository) checkout(ctx context.Context, commit string) (repository, func(), error) {
	parent, err := os.MkdirTemp("", "proves-")
	if err != nil {
		return repository{}, nil, err
	}
	dir := filepath.Join(parent, "before")
	if _, err := r.git(ctx, "worktree", "add", "--detach", dir, commit); err != nil {
		return repository{}, nil, errors.Join(err, os.RemoveAll(parent))
	}
	remove := func() {
		// The caller's context may have ended, and this has to happen all the same.
		if _, err := r.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", dir); err != nil {
			fmt.Fprintln(os.Stderr, "proves:", err)
		}
		os.RemoveAll(parent)
	}
	return repository{dir}, remove, nil
}

// ofTests reports whether a file holds tests or what they read.
func ofTests(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/") || strings.HasPrefix(file, "test/")
}

// takeTests puts what a commit brings for tests over the checkout.
func (r repository) takeTests(ctx context.Context, from repository, before, commit string) error {
	files, err := from.changed(ctx, before, commit)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !ofTests(file) {
			continue
		}
		at := filepath.Join(r.dir, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(from.show(ctx, commit, file)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// changedTests lists the packages with tests that a commit adds or changes.
func (r repository) changedTests(ctx context.Context, before, commit string) ([]pkg, error) {
	files, err := r.changed(ctx, before, commit)
	if err != nil {
		return nil, err
	}
	var packages []pkg
	at := map[string]int{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		names, err := changedFunctions(r.show(ctx, before, file), r.show(ctx, commit, file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(names) == 0 {
			continue
		}
		dir := path.Dir(file)
		i, ok := at[dir]
		if !ok {
			i = len(packages)
			at[dir] = i
			packages = append(packages, pkg{dir: dir})
		}
		packages[i].tests = append(packages[i].tests, names...)
	}
	return packages, nil
}
