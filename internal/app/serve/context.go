package serve

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	watched "github.com/sallyport-io/sallyport/internal/wasm/inventory"
	feeds "github.com/sallyport-io/sallyport/internal/watch/follow"
)

// contextFlags are the flags of what policies may read.
type contextFlags struct {
	memory  int64
	timeout time.Duration
	images  hostanswer.Images
	host    *contexthost.Host
	// keeping has what the set in force may read kept last.
	keeping sync.Mutex
}

func (f *contextFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int64Var(&f.memory, "context-memory", watched.DefaultMaxBytes>>20, "MiB that the copies of what policies may read take at most; what does not fit is an error of the policies that read it")
	flags.DurationVar(&f.timeout, "context-read-timeout", watched.DefaultReadTimeout, "longest time that one read of a policy may take")
}

func (f *contextFlags) check() error {
	var errs []error
	if f.memory < 1 || f.memory > 1<<20 {
		errs = append(errs, usage.Errorf("--context-memory is %d; a number of MiB from 1 to %d is expected", f.memory, 1<<20))
	}
	if f.timeout <= 0 {
		errs = append(errs, usage.Errorf("--context-read-timeout is %s; a time above zero is expected", f.timeout))
	}
	return errors.Join(errs...)
}

// contextOwner is whose policies the set's are to the host.
const contextOwner = "policies"

// start makes what answers policies: the cluster, or the files where there is none.
// It keeps what the policies of each set that comes into force may read, and follows it
// on line.
func (f *contextFlags) start(config *rest.Config, files *contexthost.Files, line *feeds.Line, store *policy.Store, log *slog.Logger) error {
	o := contexthost.Options{
		Log:       logr.FromSlogHandler(log.Handler()).WithName("context"),
		Inventory: watched.Options{MaxBytes: f.memory << 20, ReadTimeout: f.timeout, Line: line},
	}
	o.Answers.Resolver, o.Answers.Images = net.DefaultResolver, f.images
	o.Answers.Log = func(policy string, line []byte) {
		o.Log.Info("a policy logs", "policy", policy, "line", decision.Clean(string(line)))
	}
	if config == nil {
		f.host = contexthost.NewForFiles(files, o)
	} else {
		rights, err := cluster.NewReviews(config)
		if err != nil {
			return err
		}
		o.Answers.Rights = rights
		if f.host, err = contexthost.NewForCluster(config, o); err != nil {
			return err
		}
	}
	store.Watch(func(*policy.Set) { f.keep(store) })
	return nil
}

// keep has what policies may read kept for those that are run here as things stand.
func (f *contextFlags) keep(store *policy.Store) {
	f.keeping.Lock()
	defer f.keeping.Unlock()
	f.host.Keep(contextOwner, store.Set().Contexts())
}
