package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// RaceVariable is the environment variable that has the product built under the
// race detector, which needs a C compiler.
const RaceVariable = "SALLYPORT_RACE"

// Product is the program under test.
type Product struct {
	// Binary is its path, and Quick that of the same without the race detector: for
	// what looks at how fast answers come.
	Binary, Quick string
	// races is what the race detector's reports begin with, if it was asked for.
	races string
}

// BuildProduct builds the program under test into a directory, under the race
// detector where [RaceVariable] is set. What it reports then is written there, of
// whatever process it is started as.
func BuildProduct(ctx context.Context, dir string) (Product, error) {
	root, err := Root()
	if err != nil {
		return Product{}, err
	}
	quick := filepath.Join(dir, "sallyport")
	p := Product{Binary: quick, Quick: quick}
	if err := build(ctx, root, "0", "-o", quick); err != nil || os.Getenv(RaceVariable) == "" {
		return p, err
	}
	p.Binary, p.races = filepath.Join(dir, "raced", "sallyport"), filepath.Join(dir, "race")
	if err := os.Setenv("GORACE", "log_path="+p.races); err != nil {
		return Product{}, err
	}
	return p, build(ctx, root, "1", "-race", "-o", p.Binary)
}

func build(ctx context.Context, root, cgo string, flags ...string) error {
	command := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath"}, flags...), "./cmd/sallyport")...)
	command.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("sallyport does not build: %w\n%s", err, output)
	}
	return nil
}

// Races returns an error with what the race detector reported of the program.
func (p Product) Races() error {
	if p.races == "" {
		return nil
	}
	reports, err := filepath.Glob(p.races + ".*")
	if err != nil {
		return err
	}
	var errs []error
	for _, report := range reports {
		text, err := os.ReadFile(report)
		if err != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("the race detector reports of sallyport:\n%s", text))
	}
	return errors.Join(errs...)
}
