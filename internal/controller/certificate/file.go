package certificate

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// FileOptions are what a File is made of.
type FileOptions struct {
	Bundles
	// Path is a file with the CAs that webhooks are to trust.
	Path string
	// Leads reports whether this replica is the one that writes.
	Leads func() bool
	Clock clock.WithTicker
	Log   logr.Logger
}

// File keeps the caBundles of webhooks to what stands in a file, for a certificate that
// somebody else makes.
type File struct {
	FileOptions
	changed notice.Notice

	mu       sync.Mutex
	warnings []string
	told     string
	failures int
}

// NewFile makes a File. Nothing is sent before Run.
func NewFile(o FileOptions) *File { return &File{FileOptions: o, changed: notice.New()} }

// Notice says that webhooks have changed.
func (f *File) Notice() { f.changed.Give() }

// Ready is always nil: no decision waits for a caBundle.
func (f *File) Ready() error { return nil }

// Warnings say what is wrong with caBundles, a sentence each.
func (f *File) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.warnings
}

// State is what there is to count.
func (f *File) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return State{Failures: f.failures}
}

// Run keeps caBundles until ctx ends.
func (f *File) Run(ctx context.Context) error {
	for {
		if f.Leads() {
			f.look(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.Clock.After(lookEvery):
		case <-f.changed:
		}
	}
}

// look puts into caBundles what stands in the file.
func (f *File) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	all, bundle, err := f.keep(ctx)
	var warnings []string
	if err == nil {
		warnings = injected(all, bundle)
	} else {
		warnings = []string{"caBundles cannot be kept to " + f.Path + ": " + err.Error()}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warnings = warnings
	if err != nil && ctx.Err() != context.Canceled {
		f.failures++
	}
	if said := fmt.Sprint(warnings); said != f.told {
		f.told = said
		for _, warning := range warnings {
			f.Log.Info("about caBundles", "warning", warning)
		}
	}
}

func (f *File) keep(ctx context.Context) (hooks, []*x509.Certificate, error) {
	content, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("the file with the CA cannot be read: %w", err)
	}
	bundle, err := inForce(content, f.Clock.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	all, err := f.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	written, err := f.put(ctx, all, bundle, false)
	if written > 0 {
		f.Log.Info("caBundles were written", "configurations", written, "file", f.Path)
	}
	return all, bundle, err
}

// inForce are the certificates of a PEM text that have not ended.
func inForce(content []byte, now time.Time) ([]*x509.Certificate, error) {
	found, err := selfsigned.Certificates(content)
	if err != nil {
		return nil, err
	}
	var bundle []*x509.Certificate
	for _, ca := range found {
		if now.Before(ca.NotAfter) {
			bundle = add(bundle, ca)
		}
	}
	if len(bundle) == 0 {
		return nil, fmt.Errorf("no certificate in PEM form was found that has not ended")
	}
	return bundle, nil
}
