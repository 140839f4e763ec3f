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
		w := &written{dir: s.out, sums: map[string]string{}}
		if err := w.begin(); err != nil {
			return err
		}
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
			if err := w.write(archive.Name(f, p), packed); err != nil {
				return err
			}
			if err := w.write(archive.Stem(f, p)+".spdx.json", program.SBOM); err != nil {
				return err
			}
			// Only what Go noted is needed yet, and there are many.
			program.Data = nil
			programs = append(programs, program.Program)
		}
		statement, err := provenance.Make(f, "release", s.builder, programs, w.all...)
		if err != nil {
			return err
		}
		krew, err := archive.Krew(f, *downloads, platforms, w.sums)
		if err != nil {
			return err
		}
		if err := w.write("sallyport_"+f.Version+".provenance.json", statement); err != nil {
			return err
		}
		if err := w.write(archive.KrewFile, krew); err != nil {
			return err
		}
		sums := archive.Sums(w.sums)
		if err := w.write(archive.Checksums, sums); err != nil {
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

// written are the files of a release.
type written struct {
	dir  string
	sums map[string]string
	all  []provenance.Subject
}

// begin makes the folder, and takes what an earlier release left in it away.
func (w *written) begin() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(w.dir, "sallyport*"))
	if err != nil {
		return err
	}
	for _, file := range append(old, filepath.Join(w.dir, archive.Checksums)) {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (w *written) write(name string, content []byte) error {
	w.sums[name] = archive.Sum(content)
	w.all = append(w.all, provenance.Of(name, content))
	return os.WriteFile(filepath.Join(w.dir, name), content, 0o644)
}
