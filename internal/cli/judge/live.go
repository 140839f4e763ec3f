package judge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
)

// Connect gives the cluster to judge against, and who is asked what users may
// do: the live one if one is named, else that of the files. stop ends what was
// started.
func (p *PolicySet) Connect(ctx context.Context, f *option.Live) (state request.Cluster, authorizer request.Authorizer, stop func(), err error) {
	if !f.Given() {
		return p.Cluster, p.Cluster, func() {}, nil
	}
	config, err := f.Config()
	if err != nil {
		return nil, nil, nil, err
	}
	agent := cluster.WithUserAgent("sallyport/" + version.Read().Version)
	options := []cluster.Option{agent}
	if p.Set.NeedsPowers() {
		options = append(options, cluster.WithRBAC())
	}
	live, err := cluster.NewLive(config, options...)
	if err != nil {
		return nil, nil, nil, err
	}
	reviews, err := cluster.NewReviews(config, agent)
	if err != nil {
		return nil, nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- live.Run(running) }()
	stop = func() {
		cancel()
		<-ended
	}
	waiting, done := context.WithTimeout(ctx, syncTimeout)
	defer done()
	if err := live.WaitForSync(waiting); err != nil {
		stop()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, nil, nil, fmt.Errorf("the cluster was not read within %s: %w", syncTimeout, err)
		}
		return nil, nil, nil, err
	}
	return live, reviews, stop, nil
}

// HostOf gives what answers the reads of policies: the live cluster if one is named,
// asked for each of them, else the files.
func (p *PolicySet) HostOf(f *option.Live, s command.Streams) (*contexthost.Host, error) {
	if !f.Given() {
		return p.Host(s), nil
	}
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	rights, err := cluster.NewReviews(config)
	if err != nil {
		return nil, err
	}
	return contexthost.NewForCluster(config, contexthost.Options{Answers: hostanswer.Answers{Rights: rights, Resolver: net.DefaultResolver, Images: p.Images, Log: logs(s)}})
}

// syncTimeout bounds how long a command waits for the RBAC objects of a cluster.
const syncTimeout = 30 * time.Second
