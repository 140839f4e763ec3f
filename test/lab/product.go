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
	// Binary is its path.
	Binary string
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
	p := Product{Binary: filepath.Join(dir, "sallyport")}
	args, cgo := []string{"build", "-trimpath", "-o", p.Binary}, "0"
	if os.Getenv(RaceVariable) != "" {
		args, cgo = append(args, "-race"), "1"
		p.races = filepath.Join(dir, "race")
		if err := os.Setenv("GORACE", "log_path="+p.races); err != nil {
			return Product{}, err
		}
	}
	build := exec.CommandContext(ctx, "go", append(args, "./cmd/sallyport")...)
	build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return Product{}, fmt.Errorf("sallyport does not build: %w\n%s", err, output)
	}
	return p, nil
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
