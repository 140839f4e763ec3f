package module

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	watched "github.com/sallyport-io/sallyport/internal/wasm/inventory"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/recording"
	"github.com/sallyport-io/sallyport/internal/wasm/regodata"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// runHost is what answers a module: calls, or at once all that it may read. finish
// writes what was recorded.
type runHost struct {
	call   wasm.HostCall
	data   wasm.ContextData
	finish func() error
}

func (f *policyRunFlags) host(s command.Streams, name string, metadata *module.Metadata, mode wasm.RegoMode, registries hostanswer.Images) (*runHost, error) {
	grants, capabilities := f.grants(metadata)
	policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", name, grants, capabilities)
	if err != nil {
		return nil, err
	}
	gate := &contextgate.Gate{
		Mapper: contexthost.Guess{}, Now: time.Now,
		Report: func(_ context.Context, d contextgate.Denied) {
			fmt.Fprintln(s.Err, decision.Clean("refused to the module: "+d.Error()))
		},
	}
	logged := func(_ string, line []byte) { fmt.Fprintln(s.Err, decision.Clean(string(line))) }
	finish := func() error { return nil }
	answers := &hostanswer.Answers{Log: logged, Images: registries, Resolver: net.DefaultResolver}
	var backend contextgate.Backend = answers
	if f.replay != "" {
		text, err := os.ReadFile(f.replay)
		if err != nil {
			return nil, fmt.Errorf("the session cannot be read: %w", err)
		}
		exchanges, err := recording.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.replay, err)
		}
		f.played = recording.NewReplay(exchanges)
		backend = &replayed{Replay: f.played, own: answers}
	} else if f.contextAware {
		closes, err := f.fromCluster(answers, gate)
		if err == nil {
			finish = closes
		} else if len(grants) > 0 || f.Live.Given() {
			// A module that reads no objects needs no cluster.
			return nil, err
		}
	}
	if f.record != "" {
		recorder := &recording.Recorder{Backend: backend}
		backend, finish = recorder, f.recorded(recorder, finish)
	}
	gate.Backend = backend
	host := &runHost{finish: finish, call: func(ctx context.Context, call wasm.Call) ([]byte, error) {
		return gate.Call(ctx, policy, hostcall.Call{Binding: call.Binding, Namespace: call.Namespace, Operation: call.Operation, Payload: call.Payload})
	}}
	if mode != "" && metadata != nil {
		if declared := metadata.Declared(); len(declared) > 0 {
			host.data = regodata.New(gate, policy, mode, declared...)
		}
	}
	return host, nil
}

// fromCluster answers from a cluster.
func (f *policyRunFlags) fromCluster(answers *hostanswer.Answers, gate *contextgate.Gate) (func() error, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	mapper, err := restMapper(config)
	if err != nil {
		return nil, err
	}
	objects, err := watched.New(config, watched.Options{Clock: clock.RealClock{}})
	if err != nil {
		return nil, err
	}
	rights, err := cluster.NewReviews(config)
	if err != nil {
		return nil, err
	}
	answers.Objects, answers.Rights, gate.Mapper = objects, rights, contextgate.RESTMapper(mapper)
	return func() error { objects.Close(); return nil }, nil
}

func restMapper(config *rest.Config) (*restmapper.DeferredDiscoveryRESTMapper, error) {
	found, err := discovery.NewDiscoveryClientForConfig(pace.Reads.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found)), nil
}

// recorded writes what was recorded once the module has judged.
func (f *policyRunFlags) recorded(recorder *recording.Recorder, before func() error) func() error {
	return func() error {
		text, err := recording.Write(recorder.Exchanges())
		if err == nil {
			err = os.WriteFile(f.record, text, 0o600)
		}
		if err != nil {
			err = fmt.Errorf("the session cannot be written: %w", err)
		}
		return errors.Join(err, before())
	}
}

// grants are what the module may read, and the calls that it may make beside.
func (f *policyRunFlags) grants(metadata *module.Metadata) (grants []contextgate.Grant, capabilities []string) {
	// A certificate is judged here, and nobody is asked.
	capabilities = []string{"crypto/*"}
	if f.replay != "" {
		// Nothing outside is asked: what the session holds besides objects is shown.
		capabilities = append(capabilities, "oci/*", "net/*")
	}
	if f.contextAware {
		capabilities = []string{"*"}
		if metadata != nil {
			grants = metadata.Declared()
		}
	}
	if f.settingsFlags.given("allowed-host-capabilities") {
		capabilities = f.capabilities
	}
	return grants, capabilities
}

// replayed answers from a session, except for log lines, which no session holds.
type replayed struct {
	*recording.Replay
	own contextgate.Backend
}

func (r *replayed) Answer(ctx context.Context, a *contextgate.Admitted) ([]byte, error) {
	if a.Operation == hostcall.Log {
		return r.own.Answer(ctx, a)
	}
	if _, recorded := r.Next().(*hostcall.Trust); a.Operation == hostcall.CertificateTrusted && !recorded {
		// Older tools judged certificates without recording it.
		return r.own.Answer(ctx, a)
	}
	return r.Replay.Answer(ctx, a)
}
