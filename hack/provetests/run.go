package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// pkg is a package with the tests of it that are to be run.
type pkg struct {
	dir   string
	tests []string
}

// outcome is what a test comes to without the commit.
type outcome int

const (
	fails outcome = iota
	compiles
	passes
)

func (o outcome) String() string {
	return [...]string{"FAILS", "DOES NOT COMPILE", "passes"}[o]
}

type result struct {
	name    string
	outcome outcome
}

// test runs tests of a package. Subtests that fail are named, and so is each test
// that has none that fails.
func (r repository) test(ctx context.Context, p pkg, limit time.Duration) ([]result, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-json", "-count=1", "-timeout", limit.String(),
		"-run", "^("+strings.Join(p.tests, "|")+")$", "./"+p.dir)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	failed, passed := map[string]bool{}, map[string]bool{}
	lines := json.NewDecoder(bytes.NewReader(out))
	for lines.More() {
		var event struct{ Action, Test string }
		if err := lines.Decode(&event); err != nil {
			return nil, err
		}
		switch {
		case event.Test == "":
		case event.Action == "fail":
			failed[event.Test] = true
		case event.Action == "pass":
			passed[event.Test] = true
		}
	}
	var results []result
	for _, name := range p.tests {
		switch {
		case failed[name]:
			below := func(other string) bool { return strings.HasPrefix(other, name+"/") }
			leaves := 0
			for other := range failed {
				if below(other) {
					leaves++
					results = append(results, result{other, fails})
				}
			}
			if leaves == 0 {
				results = append(results, result{name, fails})
			}
		case passed[name]:
			results = append(results, result{name, passes})
		case err != nil && len(failed)+len(passed) == 0:
			results = append(results, result{name, compiles})
		default:
			// It ended the whole package, by a panic or by its time.
			results = append(results, result{name, fails})
		}
	}
	slices.SortFunc(results, func(x, y result) int { return strings.Compare(x.name, y.name) })
	return results, nil
}
