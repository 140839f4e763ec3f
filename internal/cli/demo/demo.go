package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/files/output"
)

// Command makes the command demo.
func Command(s command.Streams) *cobra.Command {
	var color, write string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Judge built-in examples at both doors",
		Long: `Demo judges examples that are built into the program, at both doors, and says
why each request is let in or refused. It needs no cluster and changes nothing.
With --write it puts the examples into a directory instead, to be tried out.`,
		Args: command.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if write != "" {
				return writeExamples(s, write)
			}
			colored, err := judge.UseColor(color, s.Out)
			if err != nil {
				return err
			}
			return runDemo(cmd.Context(), s, colored)
		},
	}
	cmd.Flags().StringVar(&color, "color", "auto", "colour text: auto (on a terminal), always or never")
	cmd.Flags().StringVar(&write, "write", "", "write the examples into this new directory")
	return cmd
}

func runDemo(ctx context.Context, s command.Streams, color bool) error {
	stage, err := newStage()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(s.Out)
	p := printer{out: out, color: color, paint: output.Painter(color)}
	counts := stage.policies.Set.Counts()
	p.paragraph(fmt.Sprintf("%s judged by %s and %s. Manifests, pods and policies are built into this program; the judgement is the one that a cluster gets.",
		plural(len(frontScenes)+len(sideScenes), "request"), plural(counts.ClusterPolicies, "ClusterPolicy"), plural(counts.DenyPolicies, "DenyPolicy")))
	p.heading("The front door: what is created or changed")
	for i := range frontScenes {
		if err := p.scene(&frontScenes[i], func() (act, error) { return stage.front(ctx, &frontScenes[i]) }); err != nil {
			return err
		}
	}
	p.heading("The side door: who gets into what runs")
	for i := range sideScenes {
		if err := p.scene(&sideScenes[i], func() (act, error) { return stage.side(ctx, &sideScenes[i]) }); err != nil {
			return err
		}
	}
	p.ending()
	if err := out.Flush(); err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	return nil
}

// writeExamples writes the built-in examples into a directory that is not there
// yet.
func writeExamples(s command.Streams, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; name a directory that is not", dir)
	}
	err := fs.WalkDir(examples.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := examples.Files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		return fmt.Errorf("the examples cannot be written: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, `The examples are in %[1]s. Try:
  sallyport check -p %[1]s/demo/policies %[1]s/demo/manifests
  sallyport access exec ops/builder-0 -p %[1]s/demo/policies -p %[1]s/demo/cluster
  sallyport serve --from %[1]s/demo --insecure-http --addr 127.0.0.1:8080
`, dir)
	return err
}
