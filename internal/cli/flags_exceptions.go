package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
)

// exceptionFlags say what exceptions may do.
type exceptionFlags struct{ trusted []string }

func (f *exceptionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.trusted, "trusted-exception-namespaces", nil,
		"namespaces, with * and ?, whose PolicyExceptions may excuse resources of other namespaces (repeatable)")
}

// options are those of files that are judged now: a duration in an object that
// says nothing of its creation counts from now.
func (f *exceptionFlags) options(now time.Time) pass.Options {
	return pass.Options{TrustedNamespaces: f.trusted, Began: now}
}
