package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the compiled tests of one package, and which of them pass through
// which guard.
type suite struct {
	dir, binary string
	// through has, for each guard, the tests that pass through it, quickest first.
	through map[int][]string
	took    map[string]time.Duration
}

// try takes each guard of an area out and runs the tests that pass through it.
func try(ctx context.Context, a area, guards []guard, o options, report *report) error {
	dir, err := os.MkdirTemp("", "guards-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := overlay(a, guards, dir)
	if err != nil {
		return err
	}
	var suites []*suite
	for i, tests := range a.tests {
		s, err := compile(ctx, tests, list, filepath.Join(dir, fmt.Sprintf("%d.test", i)))
		if err != nil {
			return err
		}
		if err := s.follow(ctx, dir); err != nil {
			return err
		}
		suites = append(suites, s)
	}
	for number, g := range guards {
		if !o.chosen(g) {
			continue
		}
		verdict := unreached
		for _, s := range suites {
			tests := s.through[number]
			if len(tests) == 0 {
				continue
			}
			verdict = survived
			failed, err := s.fails(ctx, tests, number, o.limit)
			if err != nil {
				return err
			}
			if failed {
				verdict = held
				break
			}
		}
		report.add(g, verdict)
	}
	return ctx.Err()
}

// compile builds the tests of a package with the instrumented files.
func compile(ctx context.Context, dir, overlay, binary string) (*suite, error) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-overlay", overlay, "-o", binary, "./"+dir)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s do not compile with switches: %w\n%s", dir, err, out)
	}
	return &suite{dir: dir, binary: binary, through: map[int][]string{}, took: map[string]time.Duration{}}, nil
}

// follow runs each test by itself to learn which guards it passes through.
func (s *suite) follow(ctx context.Context, dir string) error {
	list := exec.CommandContext(ctx, s.binary, "-test.list", "^(Test|Fuzz)")
	list.Dir = s.dir
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("the tests of %s cannot be listed: %w", s.dir, err)
	}
	for _, name := range strings.Fields(string(names)) {
		seen := filepath.Join(dir, "seen")
		if err := os.RemoveAll(seen); err != nil {
			return err
		}
		started := time.Now()
		if out, err := s.command(ctx, []string{name}, envSeen+"="+seen).CombinedOutput(); err != nil {
			return fmt.Errorf("%s in %s fails with every guard in place: %w\n%s", name, s.dir, err, out)
		}
		s.took[name] = time.Since(started)
		text, err := os.ReadFile(seen)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for field := range strings.FieldsSeq(string(text)) {
			number, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			s.through[number] = append(s.through[number], name)
		}
	}
	for _, tests := range s.through {
		slices.SortFunc(tests, func(x, y string) int { return int(s.took[x] - s.took[y]) })
	}
	return nil
}

// quick is how long tests may take together that are run before all others: most
// guards are held by one of these.
const quick = 300 * time.Millisecond

// slack is how many times longer than before tests may take together until they
// count as hanging.
const slack = 20

// fails reports whether a test notices that a guard is missing. One that hangs or
// panics has noticed.
func (s *suite) fails(ctx context.Context, tests []string, number int, limit time.Duration) (bool, error) {
	// A machine that is busy with something else must not pass for a test that hangs.
	together := time.Duration(0)
	for _, name := range tests {
		together += s.took[name]
	}
	bounded, cancel := context.WithTimeout(ctx, max(limit, slack*together))
	defer cancel()
	first, spent := 0, time.Duration(0)
	for first < len(tests) && spent+s.took[tests[first]] <= quick {
		spent += s.took[tests[first]]
		first++
	}
	for _, batch := range [][]string{tests[:first], tests[first:]} {
		if len(batch) == 0 {
			continue
		}
		err := s.command(bounded, batch, envOut+"="+strconv.Itoa(number)).Run()
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.As(err, &exit):
			return true, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}

func (s *suite) command(ctx context.Context, tests []string, env string) *exec.Cmd {
	quoted := make([]string, len(tests))
	for i, name := range tests {
		quoted[i] = regexp.QuoteMeta(name)
	}
	cmd := exec.CommandContext(ctx, s.binary, "-test.failfast", "-test.run", "^("+strings.Join(quoted, "|")+")$")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), env)
	return cmd
}
