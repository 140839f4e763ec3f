package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sallyport-io/sallyport/hack/release/archive"
	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/product"
	"github.com/sallyport-io/sallyport/hack/release/provenance"
)

func archivesCommand(ctx context.Context, set *flag.FlagSet, out io.Writer, env func(string) string) func() error {
	var s settings
	s.register(set, "dist/release", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64")
	downloads := set.String("downloads", facts.Source+"/releases/download", "the URL below which releases are downloaded, for the manifest of the plugin")
	return func() error {
		f, platforms, licence, err := s.start(ctx, env)
		if err != nil {
			return err
		}
		// Told before the half hour that building takes.
		old, err := archive.Earlier(s.out)
		if err != nil {
			return err
		}
		w := &written{sums: map[string]string{}}
		completion, err := s.completion(ctx, f)
		if err != nil {
			return err
		}
		var programs []*product.Program
		for _, p := range platforms {
			program, err := s.make(ctx, f, p, false)
			if err != nil {
				return err
			}
			packed, err := archive.Pack(f, program.Program, licence, completion, program.Modules)
			if err != nil {
				return fmt.Errorf("the archive for %s: %w", p, err)
			}
			w.add(archive.Name(f, p), packed)
			w.add(archive.Stem(f, p)+".spdx.json", program.SBOM)
			// Only what Go noted is needed yet, and there are many.
			program.Data = nil
			programs = append(programs, program.Program)
		}
		statement, err := provenance.Make(f, "release", s.builder, programs, w.subjects()...)
		if err != nil {
			return err
		}
		krew, err := archive.Krew(f, *downloads, platforms, w.sums)
		if err != nil {
			return err
		}
		w.add("sallyport_"+f.Version+".provenance.json", statement)
		w.add(archive.KrewFile, krew)
		sums := archive.Sums(w.sums)
		w.add(archive.Checksums, sums)
		if err := w.write(s.out, old); err != nil {
			return err
		}
		_, err = out.Write(sums)
		return err
	}
}

// completion builds the program for here and has it write the scripts.
func (s *settings) completion(ctx context.Context, f facts.Facts) ([]files.File, error) {
	var err error
	if s.here, err = s.build(ctx, f, product.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}); err != nil {
		return nil, err
	}
	scripts, err := archive.Completion(ctx, s.here)
	return append(scripts, archive.Plugin), err
}

// written are the files of a release. They are written when all are there, so that no
// folder has half of one.
type written struct {
	all  []files.File
	sums map[string]string
}

func (w *written) add(name string, content []byte) {
	w.all = append(w.all, files.File{Path: name, Data: content})
	w.sums[name] = archive.Sum(content)
}

func (w *written) subjects() []provenance.Subject {
	var out []provenance.Subject
	for _, f := range w.all {
		out = append(out, provenance.Of(f.Path, f.Data))
	}
	return out
}

// write writes the files into a folder in place of old ones.
func (w *written) write(dir string, old []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	for _, f := range w.all {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
