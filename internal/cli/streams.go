package cli

import (
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Now is the time that exceptions are valid or expired by; nil: the clock of
	// the machine.
	Now func() time.Time
	// Cluster is worked on in place of that of a kubeconfig, if it is not nil.
	Cluster client.WithWatch
}

func (s *Streams) clock() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
