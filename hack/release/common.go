package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/image"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
	"github.com/sallyport-io/sallyport/hack/release/provenance"
	"github.com/sallyport-io/sallyport/hack/release/sbom"
)

// settings are the flags that more than one command has.
type settings struct {
	root, out, platforms, builder string
	// here is the program for the machine that this runs on, once it was built.
	here *product.Program
}

func (s *settings) register(set *flag.FlagSet, out, platforms string) {
	set.StringVar(&s.root, "root", ".", "the work tree to build")
	set.StringVar(&s.out, "out", out, "the folder to write into")
	set.StringVar(&s.platforms, "platforms", platforms, "what to build for")
	set.StringVar(&s.builder, "builder", provenance.ByHand, "the URI of whoever builds, for the provenance")
}

func (s *settings) list() ([]product.Platform, error) {
	var out []product.Platform
	for _, one := range strings.Split(s.platforms, ",") {
		p, err := product.ParsePlatform(one)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// start reads what every command needs: the facts, the platforms and the licence of
// Sallyport. A tree with changes is told of, as what comes of it is not a release.
func (s *settings) start(ctx context.Context, env func(string) string) (f facts.Facts, platforms []product.Platform, licence []byte, err error) {
	if platforms, err = s.list(); err != nil {
		return f, nil, nil, err
	}
	if f, err = facts.Read(ctx, s.root, env); err != nil {
		return f, nil, nil, err
	}
	if f.Commit() == "" {
		fmt.Fprintln(os.Stderr, "release: the work tree has changes that are not committed: what comes of it is not a release, and says so")
	}
	licence, err = os.ReadFile(filepath.Join(s.root, "LICENSE"))
	return f, platforms, licence, err
}

func (s *settings) build(ctx context.Context, f facts.Facts, p product.Platform) (*product.Program, error) {
	if s.here != nil && s.here.Platform == p {
		return s.here, nil
	}
	fmt.Fprintf(os.Stderr, "release: building for %s\n", p)
	return product.Build(ctx, s.root, f, p)
}

// make builds the program for a platform, with its licences and a list of what is in it,
// and in an image of it if that is asked for.
func (s *settings) make(ctx context.Context, f facts.Facts, p product.Platform, forImage bool) (image.Program, error) {
	program, err := s.build(ctx, f, p)
	if err != nil {
		return image.Program{}, err
	}
	linked, err := licences.Collect(ctx, s.root, p, product.Package)
	if err != nil {
		return image.Program{}, err
	}
	out := image.Program{Program: program, Modules: linked}
	var beside []licences.Module
	if forImage {
		if beside, err = licences.Collect(ctx, s.root, p, image.RootsPackage); err != nil {
			return image.Program{}, err
		}
		beside = slices.DeleteFunc(beside, func(m licences.Module) bool { return m.Path == licences.Standard })
		out.Modules = slices.Concat(linked, beside)
	}
	out.SBOM, err = sbom.Make(f, program, linked, beside)
	return out, err
}
