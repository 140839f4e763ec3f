package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/guest"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	watched "github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// policySet is what -p leads to: policies that can all do what they say, and the
// cluster to judge against.
type policySet struct {
	set     *policy.Set
	cluster *cluster.Files
	// given are the objects that policies may read.
	given   *watched.Static
	ignored []load.Ignored
	// images answers what policies ask about images; nil for nothing.
	images hostanswer.Images
	// clusters are the further ones that the files describe.
	clusters []stored.Sourced[*v1alpha1.ClusterConfig]
	// sources are what the set was compiled from.
	sources *policy.Sources
}

// place says in a request which cluster it is for, and what the files say of that.
func (p *policySet) place(r *request.Request, name string) {
	r.ClusterName = name
	if c := clusterconfig.Named(p.clusters, name); c != nil {
		r.Tenant, r.Environment, r.Elsewhere = c.Spec.Tenant, c.Spec.Environment, true
	}
}

// host answers what policies read, from the files.
func (p *policySet) host(s Streams) *contexthost.Host {
	files := &contexthost.Files{}
	files.Set(p.given)
	return contexthost.NewForFiles(files, contexthost.Options{Answers: hostanswer.Answers{Rights: p.cluster, Images: p.images, Log: logs(s)}})
}

// logs shows what policies log.
func logs(s Streams) func(policy string, line []byte) {
	return func(_ string, line []byte) { fmt.Fprintln(s.Err, decision.Clean(string(line))) }
}

// tellIgnored says which objects of -p were passed over.
func (p *policySet) tellIgnored(out io.Writer) {
	for _, ignored := range p.ignored {
		fmt.Fprintln(out, decision.Clean(ignored.String()))
	}
}

// warn tells of policies and exceptions that may do less than they look; strict
// makes that an error.
func (p *policySet) warn(out io.Writer, strict bool) error {
	warnings := p.set.Warnings()
	if len(warnings) > 0 && strict {
		return fmt.Errorf("%w\nNothing was judged: --strict refuses what may do less than it looks", warnings)
	}
	for i := range warnings {
		fmt.Fprintln(out, "warning: "+decision.Clean(warnings[i].Error()))
	}
	return nil
}

// The flags that name the cluster: that of a server, and that of a request.
const (
	clusterNameFlag = "--cluster-name"
	clusterFlag     = "--cluster"
)

// tellUncovered says which policies cover nothing because the cluster was not
// named.
func (p *policySet) tellUncovered(out io.Writer, cluster string) {
	for _, sentence := range p.set.CoverNothing(cluster, clusterFlag) {
		fmt.Fprintln(out, decision.Clean("warning: "+sentence))
	}
}

// tellOpen says which ways in stay open beside those that policies judge and, at the
// side door, which rules give no opinion.
func (p *policySet) tellOpen(out io.Writer, t target, r *request.Request) {
	said := p.set.OpenBeside(r.ClusterName)
	if r.Door == request.Access {
		kind := "Pod"
		if t.node {
			kind = "Node"
		}
		said = append(said, p.set.NeedFrontDoor(kind, t.subresource)...)
	}
	for _, sentence := range said {
		fmt.Fprintln(out, "note: "+decision.Clean(sentence))
	}
}

// warnUncovered logs the same of each set that comes into force in a server.
func warnUncovered(log *slog.Logger, cluster string) func(*policy.Set) {
	return func(set *policy.Set) {
		for _, sentence := range set.CoverNothing(cluster, clusterNameFlag) {
			log.Warn(sentence)
		}
	}
}

func addPoliciesFlag(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVarP(paths, "policies", "p", nil,
		"policies, and objects of the cluster to judge against: a file, a directory, or - (repeatable)")
}

// loadPolicies loads what -p names. Should one policy or object not be right,
// the error says all that is wrong, and nothing is to be judged.
func loadPolicies(paths []string, s Streams, exceptions pass.Options) (*policySet, error) {
	if len(paths) == 0 {
		return nil, usagef("no policies are given; name them with -p")
	}
	return compilePolicies(load.Policies(paths, s.In), paths, exceptions)
}

// compilePolicies compiles what was loaded from the paths.
func compilePolicies(loaded *load.Result, paths []string, exceptions pass.Options) (*policySet, error) {
	set, files, given, err := compile(loaded, exceptions)
	if err != nil {
		return nil, fmt.Errorf("%w\nNothing was judged: all policies and objects must be right", err)
	}
	if set.Empty() {
		return nil, stored.Problems{{Detail: "no policy was found in " + joined(paths) + "; without one there is nothing to judge by"}}
	}
	return &policySet{set: set, cluster: files, given: given, ignored: loaded.Ignored, clusters: loaded.Sources.Clusters, sources: &loaded.Sources}, nil
}

// compile makes the set and the cluster out of what was loaded. The error holds
// every problem.
func compile(loaded *load.Result, exceptions pass.Options) (*policy.Set, *cluster.Files, *watched.Static, error) {
	set, problems := policy.Compile(loaded.Sources, pod.Default(), exceptions)
	problems = append(loaded.Problems[:len(loaded.Problems):len(loaded.Problems)], problems...)
	files, err := cluster.NewFiles(loaded.Objects)
	if err != nil {
		problems = append(problems, stored.Problem{Detail: err.Error()})
	}
	given, err := watched.NewStatic(loaded.Given, loaded.None, time.Now)
	if err != nil {
		problems = append(problems, stored.Problem{Detail: err.Error()})
	}
	if len(problems) > 0 {
		return nil, nil, nil, problems
	}
	return set, files, given, nil
}

// runModules loads the modules of the policies, and has them judge. What cannot be
// loaded shows in the results. calls answers what they ask. closing lets go of them.
func (p *policySet) runModules(ctx context.Context, s Streams, f *moduleFlags, calls guest.Context) (closing func(), err error) {
	policies := p.set.ModulePolicies()
	if len(policies) == 0 {
		return func() {}, nil
	}
	host, err := f.host(ctx, nil, guest.Options{
		Context: calls, Observer: &lineObserver{out: s.Err},
	})
	if err != nil {
		return nil, err
	}
	if err := host.Load(ctx, policies); err != nil {
		host.Close()
		return nil, fmt.Errorf("the modules of the policies were not loaded: %w", err)
	}
	p.set = p.set.Run(host.Host)
	return host.Close, nil
}
