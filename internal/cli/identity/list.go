package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity/holders"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// identitiesFlags are the flags of identities.
type identitiesFlags struct {
	command.AsUser
	policies   []string
	all        bool
	claim      string
	withClaims bool
	limit      int
	output     string
}

// List makes the command identities, with bootstrap below it.
func List(s command.Streams) *cobra.Command {
	f := &identitiesFlags{}
	cmd := &cobra.Command{
		Use: "identities", Short: "List the identities that pods carry, and who else gets at them", Args: command.None,
		Long: `Identities lists pods, and all that makes pods, with the identities that they
carry: who holds each, and who reaches the runtime without holding it, by which
binding, role and rule. Whoever is refused at Sallyport's doors is told from
those whom no door stops. It reads a cluster, or with -p files.

What another authorizer of the API server allows is not seen.`,
		Example: `  sallyport identities -A
  sallyport identities -n shop --claim kerberos=legacy-frontend-app
  sallyport identities -p sources.yaml -p cluster/ -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.AsUser.Add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.policies, "policies", "p", nil,
		"sources, pods, workloads, service accounts, roles and bindings of files, and not of a cluster: a file, a directory, or - (repeatable)")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "of every namespace; from files that is so unless -n is given")
	flags.StringVar(&f.claim, "claim", "", "only pods and workloads that carry this identity: KEY or KEY=VALUE")
	flags.BoolVar(&f.withClaims, "with-claims-only", true, "leave out pods and workloads that carry no identity")
	flags.IntVar(&f.limit, "limit", 20, "how many are listed of those who hold a claim, of those who are refused, and of those whom no door stops; 0 lists all")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	cmd.AddCommand(newIdentitiesBootstrap(s))
	return cmd
}

// identitiesAnswer is what is written as JSON.
type identitiesAnswer struct {
	Identities []holders.Identity `json:"identities"`
	// Total counts the pods and workloads that were read, and WithoutClaims those of
	// them that carry none.
	Total         int                   `json:"total"`
	WithoutClaims int                   `json:"withoutClaims"`
	Missing       []cluster.MissingRole `json:"missing"`
	Warnings      []string              `json:"warnings"`
	// Problems say what could not be read, so that the list may lack something.
	Problems []string `json:"problems"`
}

func (f *identitiesFlags) check() error {
	switch {
	case f.output != "text" && f.output != "json":
		return usage.Errorf("there is no output format %q; there are text and json", f.output)
	case f.limit < 0:
		return usage.Errorf("--limit is %d; 0, for all, or more is expected", f.limit)
	case f.all && f.Namespace != "":
		return usage.Errorf("both -A and -n %s are given", f.Namespace)
	case len(f.policies) > 0 && f.Given():
		return usage.Errorf("both -p and a cluster are named; everything is read from one of them")
	case strings.HasPrefix(f.claim, "="):
		return usage.Errorf("--claim is %q; KEY or KEY=VALUE is expected", f.claim)
	case strings.HasSuffix(f.claim, "=") && strings.Count(f.claim, "=") == 1:
		return usage.Errorf("--claim %q has an empty value; leave the = out to ask for any value", f.claim)
	}
	return nil
}

func (f *identitiesFlags) run(ctx context.Context, s command.Streams) error {
	if err := f.check(); err != nil {
		return err
	}
	found := &inventory{}
	var err error
	if len(f.policies) > 0 {
		found.namespace = f.Namespace
		err = found.readFiles(ctx, f.policies, s.In)
	} else {
		err = f.readCluster(ctx, s, found)
	}
	if err != nil {
		return err
	}
	answer := f.answer(found)
	for _, text := range answer.Warnings {
		fmt.Fprintln(s.Err, decision.Clean("warning: "+text))
	}
	unknown := len(answer.Problems) > 0
	for i := range answer.Missing {
		unknown = unknown || answer.Missing[i].Unknown
		fmt.Fprintln(s.Err, decision.Clean("warning: "+answer.Missing[i].String()))
	}
	for _, text := range answer.Problems {
		fmt.Fprintln(s.Err, decision.Clean("not known: "+text))
	}
	if f.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(answer)
	} else {
		err = answer.write(s.Out, f.claim, f.withClaims)
	}
	if err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	if unknown {
		return command.Exit(command.Wrong)
	}
	return nil
}

func (f *identitiesFlags) readCluster(ctx context.Context, s command.Streams, into *inventory) error {
	c, namespace, err := f.Open(s)
	if err != nil {
		return err
	}
	if !f.all {
		into.namespace = namespace
	}
	return into.readCluster(ctx, c)
}

// answer tells who stands behind what was found.
func (f *identitiesFlags) answer(found *inventory) *identitiesAnswer {
	answer := &identitiesAnswer{
		Total: len(found.runtimes), Missing: []cluster.MissingRole{}, Warnings: append([]string{}, found.warnings...), Problems: found.allProblems(),
	}
	var chosen []holders.Runtime
	asked := map[holders.Claim]bool{}
	for _, r := range found.runtimes {
		if len(r.Claims) == 0 {
			answer.WithoutClaims++
		}
		if f.chooses(&r) {
			chosen = append(chosen, r)
		}
		for _, c := range r.Claims {
			key := holders.Claim{Key: c.Key, Form: c.Form}
			if !asked[key] {
				asked[key] = true
				answer.Warnings = append(answer.Warnings, key.Misread(found.rbac)...)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b holders.Runtime) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(answer.Warnings)
	answer.Warnings = slices.Compact(answer.Warnings)
	limit := f.limit
	if limit == 0 {
		limit = math.MaxInt / 2
	}
	audit := holders.New(found.rbac, holders.Options{Makers: holders.Makers(found.pods, found.set.Kinds()...), Limit: limit})
	answer.Identities = audit.Identities(chosen)
	told := map[cluster.ObjectRef]bool{}
	for i := range answer.Identities {
		for _, m := range answer.Identities[i].Missing {
			if !told[m.Binding] {
				told[m.Binding] = true
				answer.Missing = append(answer.Missing, m)
			}
		}
	}
	return answer
}

// chooses reports whether a pod or workload is listed.
func (f *identitiesFlags) chooses(r *holders.Runtime) bool {
	if f.claim == "" {
		return !f.withClaims || len(r.Claims) > 0
	}
	key, value, valued := strings.Cut(f.claim, "=")
	return slices.ContainsFunc(r.Claims, func(c holders.Carried) bool { return c.Key == key && (!valued || c.Value == value) })
}
