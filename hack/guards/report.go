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

// report collects the verdicts.
type report struct {
	// known are the reasons by the keys of survivors.
	known map[string]string
	areas []area
	// whole is set if every guard of the areas was tried, so that a reason for one
	// that is not there is out of date.
	whole     bool
	held      int
	survivors []survivor
}

type survivor struct {
	guard
	verdict verdict
}

func (r *report) add(g guard, v verdict) {
	if v == held {
		r.held++
		return
	}
	r.survivors = append(r.survivors, survivor{g, v})
}

// print writes the survivors, those without a reason last, and reports whether all
// is as the reasons say.
func (r *report) print(w io.Writer) bool {
	left := maps.Clone(r.known)
	explained := 0
	var open []survivor
	for _, s := range r.survivors {
		if _, ok := left[s.key]; !ok {
			open = append(open, s)
			continue
		}
		delete(left, s.key)
		explained++
	}
	ok := len(open) == 0
	for _, s := range open {
		fmt.Fprintf(w, "%s:%d: %s, and no reason is given: %s\n", s.file, s.line, s.verdict, s.key)
	}
	if r.whole {
		for _, key := range slices.Sorted(maps.Keys(left)) {
			if slices.ContainsFunc(r.areas, func(a area) bool { return strings.HasPrefix(key, a.dir+"/") }) {
				fmt.Fprintf(w, "a reason is given for what is not a survivor: %s\n", key)
				ok = false
			}
		}
	}
	fmt.Fprintf(w, "%d guards taken out: %d held by a test, %d survivors with a reason, %d without\n", r.held+len(r.survivors), r.held, explained, len(open))
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
