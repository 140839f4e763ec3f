package option

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// Exceptions are the flags that say what exceptions may do. Trusted are namespaces.
type Exceptions struct{ Trusted []string }

// Add adds the flags.
func (f *Exceptions) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.Trusted, "trusted-exception-namespaces", nil,
		"namespaces, with * and ?, whose PolicyExceptions may excuse resources of other namespaces (repeatable)")
}

// Options are those of files that are judged now: a duration in an object that
// says nothing of its creation counts from now.
func (f *Exceptions) Options(now time.Time) exception.Options {
	return exception.Options{TrustedNamespaces: f.Trusted, Began: now}
}
