// Command release makes what users download: "release image" writes the container image,
// "release push" copies it to a registry, "release archives" writes archives, checksums
// and the manifest of the kubectl plugin, and "release notes" prints what changed. All of it but the push is the same
// whenever and wherever it is made; docs/release.md says how that is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Getenv)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = "there are image, push, archives and notes; -h after one of them lists its flags"

// run runs the command that args name, and prints what it made.
func run(ctx context.Context, args []string, out io.Writer, env func(string) string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command: %s", usage)
	}
	set := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	var command func() error
	switch args[0] {
	case "image":
		command = imageCommand(ctx, set, out, env)
	case "push":
		command = pushCommand(ctx, set, out, env)
	case "archives":
		command = archivesCommand(ctx, set, out, env)
	case "notes":
		command = notesCommand(ctx, set, out, env)
	default:
		return fmt.Errorf("there is no command %q: %s", args[0], usage)
	}
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is one argument too many", set.Arg(0))
	}
	return command()
}
