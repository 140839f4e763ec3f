// Package contexthost is what policies of every runtime ask for what stands beside
// the request: the gate, what answers behind it, and the reports of what was
// refused. There is one Host a cluster.
package contexthost

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/redact"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// Options are what a Host is made of. Zero values stand for the defaults.
type Options struct {
	// Answers are those to calls that read no objects, such as questions about
	// rights; what is nil in it is not offered. Its Objects are set by the Host.
	Answers hostanswer.Answers
	// Inventory bounds the copies of resources.
	Inventory inventory.Options
	Log       logr.Logger
	Clock     clock.WithTickerAndDelayedExecution
}

// Host answers policies. Make one with New, NewForCluster or NewForFiles; it works
// from then on, and tells of what was refused, and keeps copies, while Run runs.
type Host struct {
	Gate *contextgate.Gate
	// Objects are the copies of the cluster's resources; nil without a cluster.
	Objects *inventory.Inventory

	log    logr.Logger
	clock  clock.WithTicker
	ledger *ledger
	keeper *keeper
	events *eventWriter
	trees  trees
}

var _ request.Host = (*Host)(nil)

// New makes a Host that has backend answer what the gate lets through.
func New(mapper contextgate.Mapper, backend contextgate.Backend, o Options) *Host {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log.IsZero() {
		o.Log = logr.Discard()
	}
	h := &Host{log: o.Log, clock: o.Clock, ledger: newLedger()}
	h.Gate = &contextgate.Gate{Mapper: mapper, Backend: backend, Report: h.report, Now: o.Clock.Now}
	h.keeper = newKeeper(h)
	return h
}

// NewForCluster makes the Host of the cluster that config leads to. Nothing is
// sent before the first read, or Run.
func NewForCluster(config *rest.Config, o Options) (*Host, error) {
	mapper, err := newMapper(config)
	if err != nil {
		return nil, err
	}
	if o.Inventory.Clock == nil && o.Clock != nil {
		o.Inventory.Clock = o.Clock
	}
	objects, err := inventory.New(config, o.Inventory)
	if err != nil {
		return nil, err
	}
	answers := o.Answers
	answers.Objects = objects
	h := New(mapper, &answers, o)
	h.Objects, h.keeper.mapper = objects, mapper
	if h.events, err = newEventWriter(config, h.log); err != nil {
		return nil, err
	}
	return h, nil
}

// Through is the gate that everything passes.
func (h *Host) Through() *contextgate.Gate { return h.Gate }

// Call answers a call of a module, as far as it was granted to the policy.
func (h *Host) Call(ctx context.Context, policy *contextgate.Policy, call hostcall.Call) ([]byte, error) {
	return h.Gate.Call(ctx, policy, call)
}

// Read answers a read, as far as it was granted to the policy, in JSON.
func (h *Host) Read(ctx context.Context, policy *contextgate.Policy, read *hostcall.Read) ([]byte, error) {
	return h.Gate.Read(ctx, policy, read)
}

// Tree answers a read by a JSON tree, which is shared and must not be changed.
func (h *Host) Tree(ctx context.Context, policy *contextgate.Policy, read *hostcall.Read) (map[string]any, error) {
	answer, err := h.Read(ctx, policy, read)
	if err != nil {
		return nil, err
	}
	return h.trees.of(answer, h.clock.Now())
}

// report is told by the gate of each call that is denied.
func (h *Host) report(ctx context.Context, d contextgate.Denied) {
	words := redact.From(ctx)
	d.Resource, d.Why = words.Text(d.Resource), words.Text(d.Why)
	if r := recorderOf(ctx); r != nil {
		r.denied(&d)
	}
	if contextgate.Quiet(ctx) {
		return
	}
	entry, tell := h.ledger.add(&d)
	if tell {
		h.log.Info("a policy asked for what it was not granted, and was refused", "policy", d.Policy, "resource", d.Resource,
			"verb", d.Verb, "why", d.Why, "times", entry.Count)
		if h.events != nil {
			h.events.add(&d)
		}
	}
}

// tellEvery is the time between two log lines, and two Events, about the same
// resource and policy, however often it is asked for.
const tellEvery = 10 * time.Second

// Run keeps what policies were granted, and writes Events, until ctx ends. Then
// every watch has ended.
func (h *Host) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h.events != nil {
			h.events.run(ctx)
		}
	}()
	h.keeper.run(ctx)
	<-done
	if h.Objects != nil {
		h.Objects.Close()
	}
	return nil
}

// Ready is always nil: a read waits for its copy, and no decision for what it does
// not read.
func (h *Host) Ready() error { return nil }

// Hold keeps copies of what a policy was granted until release is called. The
// errors say which grants name nothing; what the others name is held all the same.
// Where Keep is used, nobody needs it.
func (h *Host) Hold(ctx context.Context, policy *contextgate.Policy) (release func(), errs []error) {
	resources, errs := policy.Resources(ctx, h.Gate.Mapper)
	if h.Objects == nil {
		return func() {}, nil
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", policy, err)
	}
	return h.Objects.Hold(resources...), errs
}
