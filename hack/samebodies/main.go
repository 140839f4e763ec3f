// Command samebodies compares the functions and declarations of two revisions, wherever
// they stand and however they are called: after files were moved and things renamed it
// shows that nothing else was changed.
//
//	go run ./hack/samebodies v0.1.0          the working tree with a revision
//	go run ./hack/samebodies v0.1.0 main     two revisions
//
// Imports, names, texts in quotes, comments and the layout do not count; everything else
// does. A name that is used for two things afterwards, or two names for one thing, counts
// as well. Listed is what has no counterpart, before and after. The command ends with
// status 1 if a function of before has none.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		fmt.Fprintln(os.Stderr, "samebodies: give the revision of before, and the one of after if it is not the working tree")
		os.Exit(2)
	}
	same, err := run(os.Stdout, flag.Arg(0), flag.Arg(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, "samebodies:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run compares two revisions; an empty after is the working tree.
func run(out io.Writer, before, after string) (same bool, err error) {
	old, oldErr := units(before)
	now, nowErr := units(after)
	if err := errors.Join(oldErr, nowErr); err != nil {
		return false, err
	}
	gone, added := differ(old, now)
	list(out, "before, and not after", gone)
	list(out, "after, and not before", added)
	functions := 0
	for _, u := range gone {
		if u.kind == function {
			functions++
		}
	}
	fmt.Fprintf(out, "%d functions and declarations before, %d after; %d without a counterpart after, %d of them functions; %d that were not there before\n", len(old), len(now), len(gone), functions, len(added))
	return functions == 0, nil
}

func list(out io.Writer, title string, all []unit) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(out, title+":")
	for _, u := range all {
		fmt.Fprintf(out, "  %s: %s %s\n", u.file, u.kind, u.name)
	}
}
