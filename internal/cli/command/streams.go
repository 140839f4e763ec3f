package command

import (
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Program is the file that was started; by the name kubectl-sallyport it is a plugin.
	Program string
	// Clock is the time that exceptions are valid or expired by; nil: the clock of
	// the machine.
	Clock func() time.Time
	// Cluster is worked on in place of that of a kubeconfig, if it is not nil.
	Cluster client.WithWatch
}

// Now is the time by Clock.
func (s *Streams) Now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock()
}
