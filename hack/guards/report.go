package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// verdict is what became of a guard that was taken out.
type verdict int

const (
	held verdict = iota
	survived
	unreached
)

func (v verdict) String() string { return [...]string{"held", "survived", "unreached"}[v] }

// report collects the verdicts, and writes each survivor without a reason as soon as
// it is found: a run takes long.
type report struct {
	w io.Writer
	// known are the reasons by the keys of survivors.
	known map[string]string
	areas []area
	// whole is set if every guard of the areas was tried, so that a reason for one
	// that is not there is out of date.
	whole                 bool
	held, explained, open int
	// left are the reasons that no survivor had use for so far.
	left map[string]string
}

func newReport(w io.Writer, known map[string]string, whole bool) *report {
	return &report{w: w, known: known, whole: whole, left: maps.Clone(known)}
}

func (r *report) add(g guard, v verdict) {
	_, explained := r.known[g.key]
	switch {
	case v == held:
		r.held++
	case explained:
		delete(r.left, g.key)
		r.explained++
	default:
		r.open++
		fmt.Fprintf(r.w, "%s:%d: %s, and no reason is given: %s\n", g.file, g.line, v, g.key)
	}
}

// end writes the reasons that are out of date and the counts, and reports whether
// all is as the reasons say.
func (r *report) end() bool {
	ok := r.open == 0
	if r.whole {
		for _, key := range slices.Sorted(maps.Keys(r.left)) {
			if slices.ContainsFunc(r.areas, func(a area) bool { return strings.HasPrefix(key, a.dir+"/") }) {
				fmt.Fprintf(r.w, "a reason is given for what is not a survivor: %s\n", key)
				ok = false
			}
		}
	}
	fmt.Fprintf(r.w, "%d guards taken out: %d held by a test, %d survivors with a reason, %d without\n", r.held+r.explained+r.open, r.held, r.explained, r.open)
	return ok
}

// readReasons reads lines of a key, a tab and a reason. Empty lines and those that
// begin with # are left out.
func readReasons(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	known := map[string]string{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: a key, a tab and a reason are expected", path, number)
		}
		known[key] = reason
	}
	return known, lines.Err()
}
