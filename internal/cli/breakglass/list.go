package breakglass

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/files/output"
)

// sessionsFlags are the flags of sessions.
type sessionsFlags struct {
	sessionFlags
	policies      []string
	cluster, user string
	history, all  bool
	watch         bool
	output        string
}

// List makes the command sessions.
func List(s command.Streams) *cobra.Command {
	f := &sessionsFlags{}
	cmd := &cobra.Command{
		Use: "sessions [NAME]", Short: "List breakglass sessions: who asked, who approved, until when",
		Long: `Sessions lists the breakglass sessions that are asked for, approved or under way:
those of everyone you may list, or with -p those of files. --all lists those
that are over as well, as long as they are kept, and --history says of each what
became of it, and which pods were entered.`,
		Example: `  sallyport sessions
  sallyport sessions --history --cluster prod-eu --user alice
  sallyport sessions -p examples/breakglass --all -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("%q is one argument too many; one NAME is expected", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return f.run(cmd.Context(), s, name)
		},
	}
	f.sessionFlags.add(cmd)
	flags := cmd.Flags()
	command.AddPolicies(cmd, &f.policies)
	flags.StringVar(&f.cluster, "cluster", "", "only of this cluster")
	flags.StringVar(&f.user, "user", "", "only of this user")
	flags.BoolVar(&f.all, "all", false, "those that are over as well")
	flags.BoolVar(&f.history, "history", false, "each step of each session, and the pods that were entered; those that are over as well")
	flags.BoolVar(&f.watch, "watch", false, "go on, and tell of each change")
	flags.StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	return cmd
}

// sessionObjects are what a list is made from.
type sessionObjects struct {
	sessions    []*v1alpha1.BreakglassSession
	escalations map[string]*breakglass.Escalation
	// byStatus is set where escalations are not known, so that what the status says
	// counts.
	byStatus bool
	// version is where a watch goes on from.
	version string
}

func (f *sessionsFlags) run(ctx context.Context, s command.Streams, name string) error {
	if !slices.Contains([]string{"text", "json", "yaml"}, f.output) {
		return usage.Errorf("there is no output format %q; there are text, json and yaml", f.output)
	}
	if f.watch && len(f.policies) > 0 {
		return usage.Errorf("--watch needs a cluster; files do not change")
	}
	if len(f.policies) > 0 {
		objects, err := sessionsOfFiles(f.policies, s)
		if err != nil {
			return err
		}
		return f.print(s, objects, name)
	}
	c, err := f.open(s)
	if err != nil {
		return err
	}
	objects, err := sessionsOfCluster(ctx, s, c)
	if err != nil {
		return err
	}
	if err := f.print(s, objects, name); err != nil || !f.watch {
		return err
	}
	return f.follow(ctx, s, c, objects, name)
}

func sessionsOfCluster(ctx context.Context, s command.Streams, c client.Client) (*sessionObjects, error) {
	var sessions v1alpha1.BreakglassSessionList
	if err := c.List(ctx, &sessions); err != nil {
		return nil, command.Plainly("sessions cannot be listed", err)
	}
	objects := &sessionObjects{version: sessions.ResourceVersion, escalations: map[string]*breakglass.Escalation{}}
	for i := range sessions.Items {
		objects.sessions = append(objects.sessions, &sessions.Items[i])
	}
	var escalations v1alpha1.BreakglassEscalationList
	err := c.List(ctx, &escalations)
	if apierrors.IsForbidden(err) {
		fmt.Fprintln(s.Err, "you may not list BreakglassEscalations, so sessions stand as their status says")
		objects.byStatus = true
		return objects, nil
	}
	if err != nil {
		return nil, command.Plainly("escalations cannot be listed", err)
	}
	for i := range escalations.Items {
		objects.add(&escalations.Items[i])
	}
	return objects, nil
}

// add takes an escalation that can be compiled; by one that cannot, no session is
// active.
func (o *sessionObjects) add(e *v1alpha1.BreakglassEscalation) {
	if compiled, errs := breakglass.CompileEscalation(e); len(errs) == 0 {
		o.escalations[e.Name] = compiled
	}
}

// print writes those that were asked for.
func (f *sessionsFlags) print(s command.Streams, objects *sessionObjects, name string) error {
	rows := []sessionRow{}
	for _, object := range objects.sessions {
		if row := objects.row(object, s.Now()); f.wants(&row, name) {
			rows = append(rows, row)
		}
	}
	if name != "" && len(rows) == 0 {
		return fmt.Errorf("there is no BreakglassSession %q", name)
	}
	sortRows(rows)
	return writeRows(s.Out, f.output, rows, f.history)
}

// wants reports whether a session is to be listed.
func (f *sessionsFlags) wants(row *sessionRow, name string) bool {
	switch {
	case f.cluster != "" && row.Cluster != f.cluster, f.user != "" && row.User != f.user:
		return false
	case name != "":
		return row.Name == name
	}
	return f.all || f.history || !breakglass.Final(row.State)
}

func writeRows(out io.Writer, format string, rows []sessionRow, history bool) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"sessions": rows})
	case "yaml":
		text, err := output.YAML(map[string]any{"sessions": rows})
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, text)
		return err
	}
	return writeSessions(out, rows, history)
}
