package judge

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/files/defaults"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Completion are the flags that say what the objects that are judged get beside what was written.
type Completion struct {
	none    bool
	version string
	server  bool
	live    option.Live
}

// Add adds the flags.
func (f *Completion) Add(cmd *cobra.Command) {
	oldest, newest := defaults.Versions()
	flags := cmd.Flags()
	flags.BoolVar(&f.none, "no-defaults", false, "judge the objects as they are written: nulls stay, and nothing is filled in")
	flags.StringVar(&f.version, "kubernetes-version", "", fmt.Sprintf("the version whose defaults are filled in, %s to %s (default %[2]s)", oldest, newest))
	flags.BoolVar(&f.server, "server", false, "judge what the API server makes of the objects in a dry run: its defaults, and what its admission adds")
	f.live.Add(cmd, "that API server is asked by --server")
}

// Completer makes the objects that are judged out of what was written.
type Completer struct {
	Table *defaults.Table
	// Pods says which kinds make pods.
	Pods *pod.Registry
	// server is asked in place of the table; nil for not.
	server *dryRun
	// warnings go here.
	out io.Writer
}

// NewCompleter fills in the defaults of the newest version.
func NewCompleter(pods *pod.Registry, out io.Writer) *Completer {
	return &Completer{Table: defaults.Newest(), Pods: pods, out: out}
}

// Completer checks the flags, and makes what completes objects. Warnings go to stderr.
func (f *Completion) Completer(stderr io.Writer) (*Completer, error) {
	switch {
	case f.server && f.none:
		return nil, usage.Errorf("--server and --no-defaults exclude each other")
	case f.server && f.version != "":
		return nil, usage.Errorf("--server and --kubernetes-version exclude each other: the API server has a version of its own")
	case f.none && f.version != "":
		return nil, usage.Errorf("--no-defaults and --kubernetes-version exclude each other")
	case f.live.Given() && !f.server:
		return nil, usage.Errorf("--kubeconfig and --context name the API server that --server asks, and --server is not given")
	}
	c := &Completer{Pods: pod.Default(), out: stderr}
	var err error
	switch {
	case f.server:
		if c.server, err = newDryRun(&f.live); err != nil {
			return nil, err
		}
	case !f.none:
		if c.Table, err = defaults.For(f.version); err != nil {
			return nil, usage.Errorf("--kubernetes-version: %v", err)
		}
	}
	return c, nil
}

// Object decodes a document as it is judged. namespace is that of the request.
func (c *Completer) Object(ctx context.Context, d *load.Document, namespace string) (*pod.Object, error) {
	raw := d.Raw
	own := namespace
	if d.GVK.Group == "" && d.GVK.Kind == "Namespace" {
		own = ""
	}
	var err error
	switch {
	case c.server != nil:
		if raw, err = c.server.create(ctx, d, own); err != nil {
			return nil, err
		}
	case c.Table != nil:
		raw, err = c.Table.Fill(d.GVK, d.Raw, own)
		if err != nil {
			// What the pods are read from says itself what is wrong with it.
			raw = d.Raw
			if _, broken := c.Pods.Decode(d.GVK, raw); broken == nil {
				fmt.Fprintln(c.out, "warning: "+decision.Clean(fmt.Sprintf("%s: the API server would refuse this %s, and it is judged as it is written: %v", d.Origin(), d.GVK.Kind, err)))
			}
		}
	}
	object, err := c.Pods.Decode(d.GVK, raw)
	if err != nil {
		return nil, err
	}
	object.Meta.Namespace = namespace
	return object, nil
}
