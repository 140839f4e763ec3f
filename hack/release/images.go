package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/sallyport-io/sallyport/hack/release/image"
)

// layoutDir is where in the folder of an image its layout stands, beside the files.
const layoutDir = "layout"

func imageCommand(ctx context.Context, set *flag.FlagSet, out io.Writer, env func(string) string) func() error {
	var s settings
	s.register(set, "dist/image", "linux/amd64,linux/arm64")
	return func() error {
		f, platforms, licence, err := s.start(ctx, env)
		if err != nil {
			return err
		}
		var programs []image.Program
		about := map[string][]byte{}
		for _, p := range platforms {
			if p.OS != "linux" {
				return fmt.Errorf("-platforms has %s, and what is in the image is for linux", p)
			}
			program, err := s.make(ctx, f, p, true)
			if err != nil {
				return err
			}
			programs = append(programs, program)
			about["image_"+p.OS+"_"+p.Arch+".spdx.json"] = program.SBOM
		}
		made, err := image.Make(f, licence, s.builder, programs...)
		if err != nil {
			return err
		}
		digest, err := made.Write(filepath.Join(s.out, layoutDir))
		if err != nil {
			return err
		}
		about["image.provenance.json"] = made.Provenance
		for name, content := range about {
			if err := os.WriteFile(filepath.Join(s.out, name), content, 0o644); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintln(out, digest)
		return err
	}
}

func pushCommand(ctx context.Context, set *flag.FlagSet, out io.Writer, env func(string) string) func() error {
	dir := set.String("from", "dist/image", "the folder that the image was written into")
	name := set.String("image", "", "HOST/PATH, or HOST/PATH:TAG, to push to; the tag is the version if it is not given")
	plain := set.Bool("plain-http", false, "the registry has no TLS")
	return func() error {
		if *name == "" {
			return fmt.Errorf("-image is missing: where to push to, as registry.example.com/team/sallyport")
		}
		login, err := credential(*name, env)
		if err != nil {
			return err
		}
		pushed, err := image.Push(ctx, filepath.Join(*dir, layoutDir), image.Target{Name: *name, PlainHTTP: *plain, Credential: login})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, pushed)
		return err
	}
}

// credential logs in by the environment, or else as the tools for containers do.
func credential(name string, env func(string) string) (auth.CredentialFunc, error) {
	if given := image.FromEnvironment(name, env); given != nil {
		return given, nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the file with logins to registries: %w", err)
	}
	return credentials.Credential(store), nil
}
