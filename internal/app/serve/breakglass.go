package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/observe/notify"
	"github.com/sallyport-io/sallyport/internal/observe/record"
)

// breakglassFlags are the flags about breakglass sessions.
type breakglassFlags struct {
	limits       workflow.SessionLimits
	expiryNotice time.Duration
	notifyConfig string
	notifySource string

	uses   *breakglass.Ledger
	sender *notify.Sender
	record *record.Recorder
}

func (f *breakglassFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.limits.PerUser, "breakglass-max-sessions-per-user", workflow.DefaultSessionsPerUser, "most breakglass sessions of one user that are not over")
	flags.IntVar(&f.limits.InAll, "breakglass-max-sessions", workflow.DefaultSessionsInAll, "most breakglass sessions in all that are not over")
	flags.DurationVar(&f.expiryNotice, "breakglass-expiry-notice", 5*time.Minute, "time before the end of a breakglass session at which others are told; 0 for never")
	flags.StringVar(&f.notifyConfig, "notify-config", "", "file that says who is told what happens to breakglass sessions; nobody if not given")
	flags.StringVar(&f.notifySource, "notify-source", "", "name of this installation in notifications; /sallyport and the name of the cluster if not given")
}

func (f *breakglassFlags) check() error {
	switch {
	case f.limits.PerUser < 1:
		return usage.Errorf("--breakglass-max-sessions-per-user is %d; 1 or more is expected", f.limits.PerUser)
	case f.limits.InAll < 1:
		return usage.Errorf("--breakglass-max-sessions is %d; 1 or more is expected", f.limits.InAll)
	case f.expiryNotice < 0:
		return usage.Errorf("--breakglass-expiry-notice is %s; 0 or more is expected", f.expiryNotice)
	}
	return nil
}

// start reads who is told, and has the store count the uses of sessions.
func (f *breakglassFlags) start(store *policy.Store, recorder *record.Recorder, cluster string, log *slog.Logger) error {
	f.uses, f.record = &breakglass.Ledger{}, recorder
	store.Count(f.uses)
	recorder.Registry().MustRegister(record.SessionCollector(func() []*breakglass.Session { return store.Set().Breakglass().Sessions() }))
	if f.notifyConfig == "" {
		return nil
	}
	targets, err := notify.ReadConfig(f.notifyConfig)
	if err != nil {
		return fmt.Errorf("--notify-config: %w", err)
	}
	source := f.notifySource
	if source == "" {
		source = "/sallyport"
		if cluster != "" {
			source += "/" + cluster
		}
	}
	f.sender = notify.New(notify.Options{Targets: targets, Source: source, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("notify")})
	recorder.Registry().MustRegister(f.sender.Metrics())
	return nil
}

// options are those of the controller.
func (f *breakglassFlags) options(cluster string, doors func(string) breakglass.Doors) workflow.BreakglassOptions {
	o := workflow.BreakglassOptions{Uses: f.uses, ExpiryNotice: f.expiryNotice, Record: f.record.Session, Cluster: cluster, Doors: doors}
	if f.sender != nil {
		o.Notify = f.sender.Notify
	}
	return o
}

// sources are what runs beside the server.
func (f *breakglassFlags) sources() []policySource {
	if f.sender == nil {
		return nil
	}
	return []policySource{notifications{f.sender}}
}

// notifications send while the server runs. No decision waits for them.
type notifications struct{ *notify.Sender }

func (notifications) Ready() error { return nil }

func (n notifications) Run(ctx context.Context) error { return n.Sender.Run(ctx) }
