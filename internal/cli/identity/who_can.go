package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity/holders"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// whoCanFlags are the flags of who-can.
type whoCanFlags struct {
	rbacFlags
	form   string
	output string
}

// WhoCan makes the command who-can.
func WhoCan(s command.Streams) *cobra.Command {
	f := &whoCanFlags{}
	cmd := &cobra.Command{
		Use: "who-can KEY[=VALUE]", Short: "List who may use an identity, and through which rule",
		Long: `Who-can lists the users, groups and service accounts that RBAC lets use an
identity that pods carry, each with the binding, the role and the rule that say
so: those of a cluster, or with -p those of files. Without VALUE it lists who may
use any value of the key.

What another authorizer of the API server allows is not seen.`,
		Example: `  sallyport who-can kerberos=legacy-frontend-app
  sallyport who-can cloud.google.com/serviceaccount -p cluster/rbac.yaml -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 && args[0] == "use" {
				args = args[1:]
			}
			return command.Exactly("KEY[=VALUE]")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args[len(args)-1]) },
	}
	f.rbacFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.form, "form", string(holders.Name), "how RBAC writes it: name (the key is the name, the value the subresource) or resource (the key is the resource, the value the name)")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

// whoCanAnswer is what is written as JSON.
type whoCanAnswer struct {
	holders.Claim
	// AnyValue: only the key was asked for.
	AnyValue bool                  `json:"anyValue"`
	Holders  []cluster.Holder      `json:"holders"`
	Missing  []cluster.MissingRole `json:"missing"`
	Warnings []string              `json:"warnings"`
}

func (f *whoCanFlags) run(ctx context.Context, s command.Streams, what string) error {
	if f.output != "text" && f.output != "json" {
		return usage.Errorf("there is no output format %q; there are text and json", f.output)
	}
	claim := holders.Claim{Form: holders.Form(f.form)}
	var valued bool
	if claim.Key, claim.Value, valued = strings.Cut(what, "="); valued && claim.Value == "" {
		return usage.Errorf("%q has an empty value, which no pod carries; leave the = out to ask for any value", what)
	}
	if err := claim.Validate(); err != nil {
		return usage.Errorf("%w", err)
	}
	rbac, err := f.read(ctx, s)
	if err != nil {
		return err
	}
	found := rbac.WhoCan(claim.Question())
	answer := &whoCanAnswer{
		Claim: claim, AnyValue: !valued, Holders: found.Holders,
		Missing: append([]cluster.MissingRole{}, found.Missing...), Warnings: append([]string{}, claim.Misread(rbac)...),
	}
	for i := range answer.Missing {
		fmt.Fprintln(s.Err, "warning: "+decision.Clean(answer.Missing[i].String()))
	}
	for _, warning := range answer.Warnings {
		fmt.Fprintln(s.Err, "warning: "+decision.Clean(warning))
	}
	if f.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(answer)
	} else {
		err = answer.write(s.Out)
	}
	if err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	for i := range answer.Missing {
		if answer.Missing[i].Unknown {
			return command.Exit(command.Wrong)
		}
	}
	return nil
}

// write writes for people.
func (a *whoCanAnswer) write(out io.Writer) error {
	what := a.Claim.String()
	if a.AnyValue {
		what = "any value of " + a.Key
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	seen := map[cluster.Subject]bool{}
	for i := range a.Holders {
		h := &a.Holders[i]
		if h.Through == nil {
			continue
		}
		if len(seen) == 0 {
			fmt.Fprintln(w, "SUBJECT\tBINDING\tROLE\tRULE")
		}
		seen[h.Subject] = true
		row := []string{h.Subject.String(), h.Through.Binding.String(), h.Through.Role.String(), h.Through.Rule.Place() + " " + shortened(h.Through.Rule.Text)}
		for j := range row {
			row[j] = decision.Clean(row[j])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	count := fmt.Sprintf("%d subjects may use %s", len(seen), what)
	switch len(seen) {
	case 0:
		count = "Nobody may use " + what
	case 1:
		count = "1 subject may use " + what
	}
	_, err := fmt.Fprintf(out, "%s. Group %s may always, through no rule.\n", decision.Clean(count), cluster.Superusers)
	return err
}

// shortened cuts a rule that names hundreds of things.
func shortened(rule string) string {
	const most = 240
	if runes := []rune(rule); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return rule
}
