package serve

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/scan"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/observe/record"
)

// scanFlags are the flags of the background scan.
type scanFlags struct {
	interval time.Duration
	reports  bool
	scanner  *scan.Scanner
}

func (f *scanFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.interval, "background-scan", 0, "time between two scans of what is in the cluster already, such as 1h; 0 scans nothing")
	cmd.Flags().BoolVar(&f.reports, "background-scan-reports", false, "write what a scan finds as OpenReports objects, whose CustomResourceDefinitions must be installed")
}

// minScanInterval keeps a mistake from becoming a load.
const minScanInterval = time.Second

func (f *scanFlags) check() error {
	switch {
	case f.interval != 0 && f.interval < minScanInterval:
		return usage.Errorf("--background-scan is %s; 0, or a time of %s or more, is expected", f.interval, minScanInterval)
	case f.reports && f.interval == 0:
		return usage.Errorf("--background-scan-reports writes what a scan finds; give --background-scan too")
	}
	return nil
}

// start makes the scanner.
func (f *scanFlags) start(config *rest.Config, store *policy.Store, state server.State, clusterName string, leads, known func() bool, log *slog.Logger) error {
	live, err := scan.NewLive(leader.Only(config, leads))
	if err != nil {
		return err
	}
	o := scan.Options{
		Set: store.Set, Objects: live, Cluster: state.Cluster, Host: state.Host, ClusterName: clusterName, Clock: clock.RealClock{},
		Log: logr.FromSlogHandler(log.Handler()).WithName("scan"), Interval: f.interval, Leads: leads, Known: known,
	}
	if f.reports {
		o.Reports = live
	}
	f.scanner = scan.New(o)
	return nil
}

// led tells the scanner, if there is one, that this replica has come to lead.
func (f *scanFlags) led() {
	if f.scanner != nil {
		f.scanner.Led()
	}
}

// state is that of the last scan, for the metrics.
func (f *scanFlags) state() record.ScanState {
	s := f.scanner.State()
	shown := record.ScanState{Finished: s.Finished, Took: s.Took, Objects: s.Objects, Failures: s.Failures}
	for by, n := range s.Results {
		shown.Results = append(shown.Results, record.ScanResults{Kind: by.Kind, Policy: by.Policy, Status: by.Status, Count: n})
	}
	return shown
}

// exceptionCounts counts the exceptions in force, and all others, for the metrics.
func exceptionCounts(store *policy.Store, now func() time.Time) func() []record.ExceptionCount {
	return func() []record.ExceptionCount {
		var counts []record.ExceptionCount
		for by, n := range store.Set().Exceptions().Counts(now()) {
			counts = append(counts, record.ExceptionCount{Kind: by.Kind, State: by.State, Count: n})
		}
		slices.SortFunc(counts, func(a, b record.ExceptionCount) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State))
		})
		return counts
	}
}
