package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/door/access"
	"github.com/sallyport-io/sallyport/internal/door/admission"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// reviewFlags are the flags of review.
type reviewFlags struct {
	exceptions option.Exceptions
	modules    option.Modules
	policies   []string
	cluster    string
	format     string
	live       option.Live
	makers     option.Controllers
}

// Command makes the command review.
func Command(s command.Streams) *cobra.Command {
	var f reviewFlags
	cmd := &cobra.Command{
		Use:   "review -p POLICIES FILE...",
		Short: "Answer recorded reviews as the server would",
		Long: `Review answers each AdmissionReview and SubjectAccessReview in the files, in the
order in which they stand there, with one line of JSON each: the body that the
server would answer with. What is written about exceptions is judged by requests
and answers, which need a cluster (--kubeconfig). A review that the server would not take is told of on
standard error.`,
		Example: `  sallyport review -p policies/ -p cluster.yaml recorded/*.json`,
		Args:    command.AtLeast("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	command.AddPolicies(cmd, &f.policies)
	f.exceptions.Add(cmd)
	f.modules.Add(cmd)
	f.live.Add(cmd, "cluster to read pods from")
	f.makers.Add(cmd)
	cmd.Flags().StringVar(&f.cluster, judge.ClusterFlag[2:], "", "name of the cluster that the reviews came from")
	cmd.Flags().StringVarP(&f.format, "output", "o", "json", "json; there is no other")
	return cmd
}

func (f *reviewFlags) run(ctx context.Context, s command.Streams, paths []string) error {
	if f.format != "json" {
		return usage.Errorf("there is no output format %q for answers; they are JSON", f.format)
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
	controllers, err := f.makers.Read()
	if err != nil {
		return err
	}
	guard, err := f.guard(policies)
	if err != nil {
		return err
	}
	denied, wrong := false, false
	fail := func(origin string, err error) {
		wrong = true
		fmt.Fprintln(s.Err, decision.Clean(origin+": "+err.Error()))
	}
	for _, path := range paths {
		answered := 0
		for d, problems := range load.Manifests([]string{path}, s.In) {
			answered++
			for i := range problems {
				wrong = true
				fmt.Fprintln(s.Err, decision.Clean(problems[i].Error()))
			}
			if d == nil {
				continue
			}
			r, answer, err := parseReview(d, policies.Set.Pods())
			if err != nil {
				fail(d.Origin(), err)
				continue
			}
			r.Time = s.Now()
			r.Cluster, r.Authorizer, r.Controllers, r.Host = cluster.PerRequest(state), authorizer, controllers, host
			policies.Place(r, f.cluster)
			verdict := policies.Set.Decide(ctx, r)
			if more := append(guard(ctx, r), workflow.Definition(ctx, r)...); len(more) > 0 {
				verdict = decision.Of(append(verdict.Results, more...))
			}
			denied = denied || verdict.Refuses()
			if _, err := s.Out.Write(answer(r, &verdict)); err != nil {
				return fmt.Errorf("the answer cannot be written: %w", err)
			}
		}
		if answered == 0 {
			fail(load.Joined([]string{path}), errors.New("holds no review"))
		}
	}
	switch {
	case wrong:
		return command.Exit(command.Wrong)
	case denied:
		return command.Exit(command.Denied)
	}
	return nil
}

// guard judges what is written about exceptions as the server does: by the cluster
// that is named, or not at all.
func (f *reviewFlags) guard(policies *judge.PolicySet) (func(context.Context, *request.Request) []decision.Result, error) {
	if !f.live.Given() {
		return func(_ context.Context, r *request.Request) []decision.Result { return workflow.Unguarded(r) }, nil
	}
	config, err := f.live.Config()
	if err != nil {
		return nil, err
	}
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	g := &workflow.Guard{Reader: reader, Set: func() *policy.Set { return policies.Set }}
	return g.Validate, nil
}

// parseReview reads a review as its door does, and returns what answers it.
func parseReview(d *load.Document, pods *pod.Registry) (*request.Request, func(*request.Request, *decision.Decision) []byte, error) {
	switch d.GVK.Kind {
	case "AdmissionReview":
		r, err := admission.Parse(d.Raw, pods)
		return r, admission.Answer, err
	case "SubjectAccessReview":
		r, err := access.Parse(d.Raw)
		return r, access.Answer, err
	default:
		return nil, nil, fmt.Errorf("is %s; an AdmissionReview or a SubjectAccessReview is expected", decision.A(d.GVK.Kind))
	}
}
