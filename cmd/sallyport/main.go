// Sallyport guards both doors of every Kubernetes pod: admission and access.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := cli.Main(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: os.Args[0]})
	stop()
	os.Exit(status)
}
