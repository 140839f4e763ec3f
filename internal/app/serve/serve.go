package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Flags are the flags of serve.
type Flags struct {
	// all are the flags, and config a file that gives further ones.
	all           *pflag.FlagSet
	config        string
	from          []string
	policies      string
	live          option.Live
	watchPolicies bool
	podSource     string
	auditLog      string
	exceptions    option.Exceptions
	flow          workflowFlags
	scan          scanFlags
	controllers   option.Controllers
	modules       option.Modules
	hosting       policyServerFlags
	context       contextFlags
	clusters      clusterFlags
	breakglass    breakglassFlags
	known         knownFlags
	webhooks      webhookFlags
	certificate   certificateFlags
	log           logFlags
	profiling     string
	mode          string
	ending        endingFlags
	server        server.Options

	surveying surveying
}

func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.all = flags
	flags.StringVar(&f.config, configFlag, "", "file of the kind ServerConfiguration that gives further flags; those that are given here stand above it")
	flags.StringArrayVar(&f.from, "from", nil, "policies, and where there is no cluster the objects to judge against: a file or a directory (repeatable)")
	flags.StringVar(&f.policies, "policies", "", "policies that are modules: a file that lists them by their ids, such as the policies.yml of a PolicyServer")
	f.live.Add(cmd, "read pods from its cluster")
	flags.StringVar(&f.mode, "mode", modeEnforce, "enforce, or observe: everything is judged, recorded and counted as wouldDeny, and nothing is refused but what would harm Sallyport itself; the authorizer has no opinion")
	flags.BoolVar(&f.watchPolicies, "watch-policies", false, "take policies from the API server too; always done where no --from is given")
	flags.StringVar(&f.podSource, "pod-source", "live", "live, or cache: pods from a watch, faster and up to a moment old")
	flags.StringVar(&f.auditLog, "audit-log", "", "write audit events as JSON lines to a file, or - for standard output; SIGHUP opens the file again")
	f.exceptions.Add(cmd)
	f.flow.add(cmd)
	f.scan.add(cmd)
	f.controllers.Add(cmd)
	f.modules.Add(cmd)
	f.hosting.add(cmd)
	f.context.add(cmd)
	f.clusters.add(cmd)
	f.breakglass.add(cmd)
	f.known.add(cmd)
	f.webhooks.add(cmd)
	f.certificate.add(cmd)
	f.log.add(cmd)
	f.ending.add(cmd)
	flags.StringVar(&f.profiling, "profiling-addr", "", "loopback HOST:PORT to serve profiles of this process at, for go tool pprof; none if not given")
	o := &f.server
	flags.StringVar(&o.Addr, "addr", ":8443", "HOST:PORT to listen on")
	flags.StringVar(&o.CertFile, "tls-cert-file", "", "the server's certificate; self-signed if not given")
	flags.StringVar(&o.KeyFile, "tls-private-key-file", "", "the key of the certificate")
	flags.StringArrayVar(&o.ServerNames, "tls-server-name", nil, "a name or address that the self-signed certificate is for, beside those of loopback (repeatable)")
	flags.StringVar(&o.WriteCA, "write-ca", "", "write the CA of the self-signed certificate to this file")
	flags.StringVar(&o.ClientCAFile, "client-ca-file", "", "CAs whose client certificates are let in")
	flags.StringVar(&o.TokenFile, "auth-token-file", "", "bearer tokens that are let in, one a line")
	flags.StringVar(&o.Callers, "callers", server.CallersAuthenticated, "authenticated, or network: callers that show no credentials are answered too, at the front door only; what they ask may be made up, so nothing follows from it but the answer")
	flags.StringArrayVar(&o.CallerNetworks, "caller-networks", nil, "network, such as 10.0.0.0/28, that callers without credentials have to ask from with --callers network; anywhere if not given (repeatable)")
	flags.IntVar(&o.CallerRate, "caller-rate", server.DefaultCallerRate, "reviews a second that one address may send without credentials with --callers network; all of them together four times as many")
	flags.BoolVar(&o.InsecureHTTP, "insecure-http", false, "serve without TLS, only on loopback")
	flags.StringVar(&o.ClusterName, clusterNameFlag[2:], "", "name of the cluster, for the policies that name clusters")
	flags.DurationVar(&o.ConnectionMaxAge, "connection-max-age", 5*time.Minute, "time after which an answer ends its connection, give or take a tenth, so that API servers come to ask every replica; 0 for never")
	flags.DurationVar(&o.DecisionTimeout, "decision-timeout", policy.DecisionTimeout, "longest time that a decision may take before its policy's fail mode answers")
}

// Complete checks the flags, before anything of the program is made. The log goes to
// stderr.
func (f *Flags) Complete(stderr io.Writer) (*Program, error) {
	if err := f.readConfig(); err != nil {
		return nil, err
	}
	log, err := f.log.logger(stderr)
	if err != nil {
		return nil, err
	}
	logLibraries(log)
	if f.podSource != "live" && f.podSource != "cache" {
		return nil, usage.Errorf("--pod-source is %q; live or cache is expected", f.podSource)
	}
	if f.server.DecisionTimeout <= 0 {
		return nil, usage.Errorf("--decision-timeout is %s; a time above zero is expected", f.server.DecisionTimeout)
	}
	if f.server.ConnectionMaxAge < 0 {
		return nil, usage.Errorf("--connection-max-age is %s; a time of 0 or more is expected", f.server.ConnectionMaxAge)
	}
	if err := f.readMode(); err != nil {
		return nil, err
	}
	if err := errors.Join(f.scan.check(), f.context.check(), f.breakglass.check(), f.known.check(), f.webhooks.check(), f.ending.check()); err != nil {
		return nil, err
	}
	if err := f.checkCertificate(); err != nil {
		return nil, err
	}
	if _, err := f.target(); err != nil {
		return nil, err
	}
	controllers, err := f.controllers.Read()
	if err != nil {
		return nil, err
	}
	return &Program{f, log, controllers}, nil
}

// Program is what serve was told, checked.
type Program struct {
	*Flags
	logger *slog.Logger
	makers *request.Controllers
}

// Run makes the program, and runs it until it is asked to end, by the end of that context,
// or a part of it does.
func (f *Program) Run(asked context.Context) error {
	log := f.logger
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked))
	defer cancel()
	starting := context.AfterFunc(asked, cancel)

	f.known.open(log)
	ledger := exception.NewLedger()
	store := policy.NewStore(pod.Default(), time.Now, exception.Options{TrustedNamespaces: f.exceptions.Trusted, Ledger: ledger})
	if err := f.clusters.open(f.server.ClusterName, f.podSource == "cache", f.known.staleness, log); err != nil {
		return err
	}
	// The server still answers while what feeds it ends.
	defer f.clusters.hub.Close()
	audit, err := f.openAudit(ctx, log)
	if err != nil {
		return err
	}
	exit := os.Exit
	if audit != nil {
		defer audit.Close()
		exit = exiting(audit.Close, clock.RealClock{}, os.Exit)
	}
	o := f.server
	o.Store, o.Log = store, logr.FromSlogHandler(log.Handler())
	o.Recorder = record.New(record.Options{Audit: audit, Policies: policyState(store), Exceptions: exceptionCounts(store, time.Now)})
	if err := f.breakglass.start(store, o.Recorder, o.ClusterName, log); err != nil {
		return err
	}
	config, err := f.clusterConfig()
	if err != nil {
		return err
	}
	given := &contexthost.Files{}
	if f.context.images, err = f.modules.Registries(); err != nil {
		return err
	}
	if err := f.context.start(config, given, &f.known.line, store, log); err != nil {
		return err
	}
	if err := f.openElsewhere(config, log); err != nil {
		return err
	}
	modules, err := f.runModules(ctx, config, store, o.Recorder.Registry(), log)
	if err != nil {
		return err
	}
	defer modules.Close()
	store.Watch(f.watchSets(log, modules))
	sources, state, err := f.sources(config, store, given, modules, log)
	if err != nil {
		return err
	}
	f.known.book.Add("modules of policies", once(modules.known()))
	state.Controllers = f.makers
	state.Known, o.Known = f.known.own, f.known.book
	o.Guard, o.Probe, o.Certificate = f.server.Guard, f.server.Probe, f.server.Certificate
	if f.certificate.keeper != nil {
		o.Recorder.Registry().MustRegister(record.CertificateCollector(f.certificate.state))
	}
	o.Recorder.Registry().MustRegister(record.ContextCollector(f.context.host.State))
	if f.scan.scanner != nil {
		o.Recorder.Registry().MustRegister(record.ScanCollector(f.scan.state))
	}
	o.Recorder.Registry().MustRegister(record.ClusterCollector(f.clusters.states))
	o.Cluster, o.BoundTo = f.clusters.finder(o.ClusterName, state), f.clusters.hub.BoundTo
	o.Recorder.Registry().MustRegister(record.KnownCollector(f.known.states(o.ClusterName, f.clusters.hub)))
	o.Recorder.Registry().MustRegister(record.EnforcedCollector(f.surveying.state))
	o.Warnings = func() []string {
		return slices.Concat(f.known.warnings(), f.certificate.warnings(), f.webhooks.shipped.warnings(), f.surveying.warnings())
	}
	o.Ready = f.known.ready(sources)
	if f.profiling != "" {
		profiling, err := server.NewProfiling(f.profiling)
		if err != nil {
			return err
		}
		log.Info("serving profiles", "address", profiling.Addr().String())
		sources = append(sources, profiling)
	}
	serving, err := server.New(o)
	if err != nil {
		return err
	}
	log.Info("serving", "address", serving.Addr().String(), "cluster", f.server.ClusterName)
	// From here on what is asked for is an end in order.
	if !starting() {
		return serving.Close()
	}
	r := run{server: serving, sources: sources, endingFlags: f.ending, clock: clock.RealClock{}, next: nextSignal, exit: exit, log: log}
	return r.until(asked, ctx, cancel)
}

// sources makes what feeds the store, and the state that requests are judged
// against.
func (f *Flags) sources(config *rest.Config, store *policy.Store, given *contexthost.Files, modules *servedModules, log *slog.Logger) ([]policySource, server.State, error) {
	if len(f.from) > 0 && !f.watchPolicies {
		store.FilesOnly()
	}
	host := f.context.host
	sources := []policySource{modules, host, f.clusters.files}
	var state server.State
	if len(f.from) > 0 {
		files, err := newFileSource(f.from, store, given, f.clusters.files, log, clock.RealClock{})
		if err != nil {
			return nil, state, err
		}
		sources = append(sources, files)
		state = server.State{Cluster: files.cluster, Authorizer: files.cluster, Host: host}
	}
	if f.policies != "" {
		listed, err := newPoliciesSource(f.policies, f.hosting.name, store, log, clock.RealClock{})
		if err != nil {
			return nil, state, err
		}
		sources = append(sources, listed)
		if state.Cluster == nil {
			// Nothing is known of the cluster but what the requests say.
			nothing := emptyFiles()
			state = server.State{Cluster: nothing, Authorizer: nothing, Host: host}
		}
	}
	if config == nil {
		return sources, state, nil
	}
	watchPolicies := f.takesPolicies()
	leads := func() bool { return true }
	if err := f.known.reads(config); err != nil {
		return nil, state, err
	}
	live, err := newClusterSource(config, f.known.follow, f.podSource == "cache", watchPolicies || store.Set().NeedsPowers() || !store.Set().Breakglass().Empty())
	if err != nil {
		return nil, state, err
	}
	sources = append(sources, live)
	state = server.State{Cluster: live.cluster, Authorizer: live.reviews, Host: host}
	if watchPolicies {
		controllers, leading, err := f.policiesOf(config, store, modules, live, log)
		if err != nil {
			return nil, state, err
		}
		sources, leads = append(sources, controllers...), leading
	}
	switch {
	case f.hosting.name == "" && watchPolicies:
		servers, err := f.policyServers(config, leads, log)
		if err != nil {
			return nil, state, err
		}
		sources = append(sources, servers)
	case f.hosting.name != "" && !watchPolicies:
		beside, err := f.hosted(config, store, modules, log)
		if err != nil {
			return nil, state, err
		}
		sources = append(sources, beside...)
	}
	if f.scan.interval > 0 {
		if err := f.scan.start(config, store, state, f.server.ClusterName, leads, f.known.all, log); err != nil {
			return nil, state, err
		}
		sources = append(sources, f.scan.scanner)
	}
	return sources, state, nil
}

// takesPolicies reports whether policies come from the API server, where there is one.
func (f *Flags) takesPolicies() bool { return f.watchPolicies || !f.fromFiles() }

// fromFiles reports whether policies come from files.
func (f *Flags) fromFiles() bool { return len(f.from) > 0 || f.policies != "" }

// clusterConfig is the cluster that is read: the one that is named, or, where
// there are no files either, that of the pod that this runs in. It is nil where
// there are only files.
func (f *Flags) clusterConfig() (*rest.Config, error) {
	if f.live.Given() {
		return f.live.Config()
	}
	config, err := rest.InClusterConfig()
	switch {
	case err == nil:
		return config, nil
	case f.fromFiles() && errors.Is(err, rest.ErrNotInCluster):
		if f.watchPolicies {
			return nil, usage.Errorf("--watch-policies needs a cluster; name it with --kubeconfig")
		}
		return nil, nil
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, usage.Errorf("nothing says where policies come from: give --from or --policies, or --kubeconfig for those of a cluster")
	default:
		return nil, fmt.Errorf("the service account of this pod cannot be used: %w", err)
	}
}

// openAudit opens the audit log, and again at each SIGHUP.
func (f *Flags) openAudit(ctx context.Context, log *slog.Logger) (*record.AuditLog, error) {
	if f.auditLog == "" {
		return nil, nil
	}
	audit, err := record.OpenAuditLog(f.auditLog)
	if err != nil {
		return nil, err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				if err := audit.Reopen(); err != nil {
					log.Error("the audit log cannot be opened again", "path", f.auditLog, "error", err)
				}
			}
		}
	}()
	return audit, nil
}

func policyState(store *policy.Store) func() record.PolicyState {
	return func() record.PolicyState {
		counts, state := store.Set().Counts(), store.State()
		return record.PolicyState{
			Policies: map[string]int{stored.KindDenyPolicy: counts.DenyPolicies, stored.KindClusterPolicy: counts.ClusterPolicies, stored.KindPolicy: counts.Policies, stored.KindClusterAdmissionPolicy: counts.ClusterAdmissionPolicies, stored.KindAdmissionPolicy: counts.AdmissionPolicies, identity.KindSource: counts.IdentitySources},
			Broken:   store.Set().BrokenByKind(),
			Loaded:   state.Loaded, Failures: state.Failures,
		}
	}
}
