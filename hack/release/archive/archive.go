// Package archive packs a release for people: an archive for each platform, checksums,
// and the manifest of the kubectl plugin.
package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

// Checksums is the file that has the checksum of every other one.
const Checksums = "SHA256SUMS"

// Name is that of the archive for a platform.
func Name(f facts.Facts, p product.Platform) string {
	ending := ".tar.gz"
	if p.OS == "windows" {
		ending = ".zip"
	}
	return Stem(f, p) + ending
}

// Stem is what the names of all files about a platform begin with.
func Stem(f facts.Facts, p product.Platform) string {
	return "sallyport_" + f.Version + "_" + p.OS + "_" + p.Arch
}

// Pack packs a program with completion scripts, its licence and those of the modules in
// it.
func Pack(f facts.Facts, p *product.Program, licence []byte, completion []files.File, modules []licences.Module) ([]byte, error) {
	if p.Platform.OS == "windows" {
		// A script without an ending is not run there.
		completion = slices.DeleteFunc(slices.Clone(completion), func(f files.File) bool { return f.Path == Plugin.Path })
	}
	content := slices.Concat([]files.File{
		{Path: p.Platform.Binary(), Mode: 0o755, Data: p.Data},
		{Path: "LICENSE", Mode: 0o644, Data: licence},
	}, completion, licences.Files("licences", modules))
	if p.Platform.OS == "windows" {
		return files.Zip(content, f.Time)
	}
	packed, err := files.Tar(content, f.Time)
	if err != nil {
		return nil, err
	}
	return files.Gzip(packed)
}

// Completion has a program, which has to run here, write its completion scripts. They do
// not differ by platform.
func Completion(ctx context.Context, p *product.Program) ([]files.File, error) {
	dir, err := os.MkdirTemp("", "sallyport-completion-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, p.Platform.Binary())
	if err := os.WriteFile(program, p.Data, 0o700); err != nil {
		return nil, err
	}
	var out []files.File
	for _, shell := range []struct{ name, file string }{{"bash", "sallyport.bash"}, {"zsh", "_sallyport"}, {"fish", "sallyport.fish"}, {"powershell", "sallyport.ps1"}} {
		command := exec.CommandContext(ctx, program, "completion", shell.name)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		script, err := command.Output()
		if err != nil || len(script) == 0 {
			return nil, fmt.Errorf("completion for %s: %w: %s", shell.name, err, stderr.Bytes())
		}
		out = append(out, files.File{Path: "completion/" + shell.file, Mode: 0o644, Data: script})
	}
	return out, nil
}

// Plugin is what kubectl looks for when it completes arguments of a plugin.
var Plugin = files.File{Path: "completion/kubectl_complete-sallyport", Mode: 0o755, Data: []byte("#!/bin/sh\nexec kubectl-sallyport __complete \"$@\"\n")}

// Sum is the checksum of a file as SHA256SUMS has it.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Sums are the lines of SHA256SUMS for files by their names.
func Sums(sums map[string]string) []byte {
	var lines []string
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return []byte(strings.Join(lines, ""))
}
