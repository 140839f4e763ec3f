// Command guards takes the guards of the engine out, one at a time, and runs the
// tests that pass through each: a guard that can be taken out without a test that
// fails is not held by anything, and is reported as a survivor.
//
//	go run ./hack/guards                       all areas
//	go run ./hack/guards -area excuse,gate     some of them
//	go run ./hack/guards -list                 the guards, and nothing run
//
// A guard is a condition that ends a function, a loop's turn or a case early, and
// each operand of a condition that is joined by && or ||. The tree is not
// changed: every guard gets a switch in a copy that the compiler reads in its
// place, so that each package is compiled once for all of its guards.
//
// Survivors with a reason stand in hack/guards/survivors.txt. The command ends
// with status 1 if there is one without, or a reason for one that is not a survivor.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	areaNames := flag.String("area", "", "areas, separated by commas; all of them if not given")
	list := flag.Bool("list", false, "list the guards and run nothing")
	match := flag.String("match", "", "only guards whose key contains one of these, separated by commas")
	reasons := flag.String("survivors", "hack/guards/survivors.txt", "the survivors with a reason")
	limit := flag.Duration("timeout", 2*time.Minute, "the longest that the tests of one guard may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, options{areas: *areaNames, list: *list, match: *match, reasons: *reasons, limit: *limit})
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

type options struct {
	areas, match, reasons string
	list                  bool
	limit                 time.Duration
}

func run(ctx context.Context, o options) (bool, error) {
	chosen, err := choose(o.areas)
	if err != nil {
		return false, err
	}
	known, err := readReasons(o.reasons)
	if err != nil {
		return false, err
	}
	report := newReport(os.Stdout, known, o.match == "")
	for _, a := range chosen {
		guards, err := find(a)
		if err != nil {
			return false, err
		}
		report.areas = append(report.areas, a)
		if o.list {
			for _, g := range guards {
				if o.chosen(g) {
					fmt.Println(a.name + "  " + g.key)
				}
			}
			continue
		}
		if err := try(ctx, a, guards, o, report); err != nil {
			return false, err
		}
	}
	if o.list {
		return true, nil
	}
	return report.end(), nil
}

// chosen reports whether a guard is one of those that are tried.
func (o options) chosen(g guard) bool {
	for part := range strings.SplitSeq(o.match, ",") {
		if strings.Contains(g.key, part) {
			return true
		}
	}
	return false
}

func choose(names string) ([]area, error) {
	if names == "" {
		return areas, nil
	}
	var chosen []area
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, a := range areas {
			if a.name == name {
				chosen, found = append(chosen, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no area %q; there are %s", name, strings.Join(areaNames(), ", "))
		}
	}
	return chosen, nil
}
