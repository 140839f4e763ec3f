// Command provetests runs the tests that a commit adds or changes against the
// commit before it, and prints which of them fail there.
//
// The tree before the commit is checked out beside the repository, and the test
// files and test data of the commit are put over it. What fails there, or does not
// compile there, is proved by the commit; what passes was true before.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	against := flag.String("against", "", "the tree to run the tests against; the first parent of the commit if not given")
	limit := flag.Duration("timeout", 20*time.Minute, "the longest that the tests of one package may take")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: hack/proves [flags] COMMIT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	proved, err := prove(ctx, flag.Arg(0), *against, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proves:", err)
		os.Exit(2)
	}
	if !proved {
		os.Exit(1)
	}
}

// prove prints a line a test, and reports whether at least one fails without the
// commit.
func prove(ctx context.Context, commit, against string, limit time.Duration) (bool, error) {
	r := repository{"."}
	if against == "" {
		against = commit + "^"
	}
	packages, err := r.changedTests(ctx, against, commit)
	if err != nil {
		return false, err
	}
	if len(packages) == 0 {
		return false, fmt.Errorf("%s changes no tests", commit)
	}
	before, remove, err := r.checkout(ctx, against)
	if err != nil {
		return false, err
	}
	defer remove()
	if err := before.takeTests(ctx, r, against, commit); err != nil {
		return false, err
	}
	proved := 0
	var count [3]int
	for _, p := range packages {
		results, err := before.test(ctx, p, limit)
		if err != nil {
			return false, err
		}
		slices.SortFunc(results, func(x, y result) int { return int(x.outcome) - int(y.outcome) })
		for _, one := range results {
			fmt.Printf("%-16s %s %s\n", one.outcome, p.dir, one.name)
			count[one.outcome]++
			if one.outcome != passes {
				proved++
			}
		}
	}
	fmt.Printf("%d fail without the commit, %d do not compile without it, %d pass without it\n", count[fails], count[compiles], count[passes])
	return proved > 0, nil
}
