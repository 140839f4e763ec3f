package judge

import (
	"context"
	"fmt"
	"io"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/compiled"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// PolicySet is what -p leads to.
type PolicySet struct {
	*compiled.Files
	// Images answers what policies ask about images; nil for nothing.
	Images hostanswer.Images
}

// Host answers what policies read, from the files.
func (p *PolicySet) Host(s command.Streams) *contexthost.Host {
	files := &contexthost.Files{}
	files.Set(p.Given)
	return contexthost.NewForFiles(files, contexthost.Options{Answers: hostanswer.Answers{Rights: p.Cluster, Images: p.Images, Log: logs(s)}})
}

// logs shows what policies log.
func logs(s command.Streams) func(policy string, line []byte) {
	return func(_ string, line []byte) { fmt.Fprintln(s.Err, decision.Clean(string(line))) }
}

// PrintIgnored says which objects of -p were passed over.
func (p *PolicySet) PrintIgnored(out io.Writer) {
	for _, ignored := range p.Ignored {
		fmt.Fprintln(out, decision.Clean(ignored.String()))
	}
}

// Warn tells of policies and exceptions that may do less than they look; strict
// makes that an error.
func (p *PolicySet) Warn(out io.Writer, strict bool) error {
	warnings := p.Set.Warnings()
	if len(warnings) > 0 && strict {
		return fmt.Errorf("%w\nNothing was judged: --strict refuses what may do less than it looks", warnings)
	}
	for i := range warnings {
		fmt.Fprintln(out, "warning: "+decision.Clean(warnings[i].Error()))
	}
	return nil
}

// ClusterFlag names the cluster of a request.
const ClusterFlag = "--cluster"

// PrintUncovered says which policies cover nothing because the cluster was not
// named.
func (p *PolicySet) PrintUncovered(out io.Writer, cluster string) {
	for _, sentence := range p.Set.CoverNothing(cluster, ClusterFlag) {
		fmt.Fprintln(out, decision.Clean("warning: "+sentence))
	}
}

// Load loads what -p names. Should one policy or object not be right,
// the error says all that is wrong, and nothing is to be judged.
func Load(paths []string, s command.Streams, exceptions exception.Options) (*PolicySet, error) {
	if len(paths) == 0 {
		return nil, usage.Errorf("no policies are given; name them with -p")
	}
	return Compile(load.Policies(paths, s.In), paths, exceptions)
}

// RunModules loads the modules of the policies, and has them judge. What cannot be
// loaded shows in the results. calls answers what they ask. closing lets go of them.
func (p *PolicySet) RunModules(ctx context.Context, s command.Streams, f *option.Modules, calls runner.Context) (closing func(), err error) {
	policies := p.Set.ModulePolicies()
	if len(policies) == 0 {
		return func() {}, nil
	}
	host, err := f.Host(ctx, nil, runner.Options{
		Context: calls, Observer: &command.ModuleLog{Out: s.Err},
	})
	if err != nil {
		return nil, err
	}
	if err := host.Load(ctx, policies); err != nil {
		host.Close()
		return nil, fmt.Errorf("the modules of the policies were not loaded: %w", err)
	}
	p.Set = p.Set.Run(host.Host)
	return host.Close, nil
}

// Compile compiles what was loaded from the paths, without anything that answers about
// images.
func Compile(loaded *load.Result, paths []string, exceptions exception.Options) (*PolicySet, error) {
	files, err := compiled.Of(loaded, paths, exceptions)
	if err != nil {
		return nil, err
	}
	return &PolicySet{Files: files}, nil
}
