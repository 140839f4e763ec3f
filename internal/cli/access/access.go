package access

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// accessFlags are the flags of access.
type accessFlags struct {
	policies   []string
	user       judge.User
	output     judge.Output
	exceptions option.Exceptions
	modules    option.Modules
	suggest    bool
	verb       string
	container  string
	cluster    string
	door       string
	live       option.Live
}

// anybody is who asks where nobody is named: a policy that is about some users
// must not be passed by naming none.
const anybody = "system:anonymous"

// Command makes the command access.
func Command(s command.Streams) *cobra.Command {
	var f accessFlags
	cmd := &cobra.Command{
		Use:   "access -p POLICIES SUBRESOURCE NAMESPACE/POD",
		Short: "Judge one access at the side door",
		Long: `Access judges whether a user may get into a pod: by exec, attach, portforward,
ephemeralcontainers, proxy or log; or by nodes/proxy into every pod of a node,
with the node's name in place of NAMESPACE/POD.

The pod is taken from the files of -p, or from a cluster if --kubeconfig or
--context is given. Nothing is entered or changed.`,
		Example: `  sallyport access exec shop/web -p policies/ -p pods.yaml --as alice
  sallyport access exec shop/web -p policies/ --context prod -c app --door admission
  sallyport access nodes/proxy node-1 -p policies/ -p cluster/`,
		Args: command.Exactly("SUBRESOURCE", "NAMESPACE/POD"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args[0], args[1]) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return deny.AccessPoints, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	command.AddPolicies(cmd, &f.policies)
	f.user.Add(cmd, anybody)
	f.output.Add(cmd)
	f.exceptions.Add(cmd)
	f.modules.Add(cmd)
	cmd.Flags().BoolVar(&f.suggest, "suggest-exception", false, "print, for each rule that refuses it, the PolicyExceptionRequest that would ask for an exception")
	f.live.Add(cmd, "cluster to read the pod from")
	flags := cmd.Flags()
	flags.StringVar(&f.verb, "verb", "", "verb at the access door: create, or get (not given: what kubectl sends)")
	flags.StringVarP(&f.container, "container", "c", "", "container that is entered (not given: the pod's default)")
	flags.StringVar(&f.cluster, judge.ClusterFlag[2:], "", "name of the cluster that the pod is in")
	flags.StringVar(&f.door, "door", string(request.Access), "access (a SubjectAccessReview) or admission (a CONNECT)")
	return cmd
}

func (f *accessFlags) run(ctx context.Context, s command.Streams, subresource, name string) error {
	write, err := f.output.Writer(s)
	if err != nil {
		return err
	}
	t, err := parseTarget(subresource, name)
	if err != nil {
		return err
	}
	if f.user.Name == "" {
		f.user.Name = anybody
	}
	user, err := f.user.User()
	if err != nil {
		return err
	}
	policies, err := judge.Load(f.policies, s, f.exceptions.Options(s.Now()))
	if err != nil {
		return err
	}
	if policies.Images, err = f.modules.Registries(); err != nil {
		return err
	}
	host, err := policies.HostOf(&f.live, s)
	if err != nil {
		return err
	}
	letGo, err := policies.RunModules(ctx, s, &f.modules, host)
	if err != nil {
		return err
	}
	defer letGo()
	policies.PrintUncovered(s.Err, f.cluster)
	state, authorizer, stop, err := policies.Connect(ctx, &f.live)
	if err != nil {
		return err
	}
	defer stop()
	r := &request.Request{
		Time: s.Now(), User: user, Resource: t.Resource(), Subresource: t.Subresource,
		Namespace: t.Namespace, Name: t.Name, Cluster: cluster.PerRequest(state), Authorizer: authorizer, Host: host,
	}
	policies.Place(r, f.cluster)
	if err := f.through(ctx, t, r); err != nil {
		return err
	}
	c := judge.Collector{Suggest: f.suggest}
	c.Decide(ctx, policies.Set, r, nil)
	printOpen(policies, s.Err, t, r)
	if f.output.Verbose {
		policies.PrintIgnored(s.Err)
	}
	return write(c.Judgement(decision.Subject(r)))
}

// through completes the request for the door that it comes in by.
func (f *accessFlags) through(ctx context.Context, t Target, r *request.Request) error {
	switch request.Door(f.door) {
	case request.Access:
		r.Door = request.Access
		r.Verb = f.verb
		if r.Verb == "" {
			r.Verb = t.UsualVerb()
		}
		if !slices.Contains(t.verbs(), r.Verb) {
			return usage.Errorf("--verb is %q; for %s it is %s", f.verb, t.point(), strings.Join(t.verbs(), " or "))
		}
		if f.container != "" {
			// No review carries it; reasons name it, and nothing goes by it.
			r.Options = &request.ConnectOptions{Container: f.container}
		}
		return nil
	case request.Admission:
		if f.verb != "" {
			return usage.Errorf("--verb belongs to the access door; admission knows operations")
		}
		r.Door = request.Admission
		return t.connect(ctx, f.container, r)
	default:
		return usage.Errorf("--door is %q; access or admission is expected", f.door)
	}
}

// printOpen says which ways in stay open beside those that policies judge and, at the
// side door, which rules give no opinion.
func printOpen(p *judge.PolicySet, out io.Writer, t Target, r *request.Request) {
	said := p.Set.OpenBeside(r.ClusterName)
	if r.Door == request.Access {
		kind := "Pod"
		if t.node {
			kind = "Node"
		}
		said = append(said, p.Set.NeedFrontDoor(kind, t.Subresource)...)
	}
	for _, sentence := range said {
		fmt.Fprintln(out, "note: "+decision.Clean(sentence))
	}
}
