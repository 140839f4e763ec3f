package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// units reads the functions and declarations of a revision; of the working tree if it is
// empty.
func units(revision string) ([]unit, error) {
	files, err := sources(revision)
	if err != nil {
		return nil, err
	}
	var all []unit
	for name, text := range files {
		found, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b unit) int { return strings.Compare(a.file+"\x00"+a.name, b.file+"\x00"+b.name) })
	return all, nil
}

// sources are the Go files of a revision by their paths, without those that tests read.
func sources(revision string) (map[string][]byte, error) {
	if revision == "" {
		return worked()
	}
	packed, err := git("archive", "--format=tar", revision)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the revision %s cannot be read: %w", revision, err)
		}
		if !counts(header.Name) {
			continue
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			return nil, fmt.Errorf("the revision %s cannot be read: %w", revision, err)
		}
	}
}

// worked are those of the working tree.
func worked() (map[string][]byte, error) {
	names, err := git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range strings.Split(string(names), "\x00") {
		if !counts(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

func counts(name string) bool {
	return path.Ext(name) == ".go" && !slices.Contains(strings.Split(name, "/"), "testdata")
}

func git(args ...string) ([]byte, error) {
	var problem bytes.Buffer
	command := exec.Command("git", args...)
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out, nil
}
