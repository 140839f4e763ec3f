// Package scan judges what is in a cluster already: each object, as if it were
// created now and nobody asked, by the rules that are in force and with the
// exceptions that are valid at that moment.
package scan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Kind is a kind of objects that can be listed.
type Kind struct {
	schema.GroupVersionKind
	Resource string
}

// Objects lists what is in a cluster.
type Objects interface {
	// Kinds lists the kinds that the cluster serves. What could be found out stands
	// beside an error about the rest.
	Kinds(ctx context.Context) ([]Kind, error)
	// Each calls visit with the JSON of each object of a kind.
	Each(ctx context.Context, kind Kind, visit func(raw []byte)) error
}

// Reports takes the reports of a scan, which replace those of the one before.
type Reports interface {
	Write(ctx context.Context, reports []report.Report) error
}

// Options are what a Scanner is made of.
type Options struct {
	// Set is the set of policies and exceptions in force.
	Set     func() *policy.Set
	Objects Objects
	// Reports is nil where nobody wants them.
	Reports Reports
	// Cluster is what policies read beside the object.
	Cluster request.Cluster
	// Host answers what policies read beside the object; nil where nothing can be.
	Host        request.Host
	ClusterName string
	Clock       clock.WithTicker
	Log         logr.Logger
	Interval    time.Duration
	// Leads reports whether this replica is the one that scans.
	Leads func() bool
	// Known reports whether all is known that objects are judged by. Nothing is scanned
	// before: of policies that were not read, a scan would find that nothing is wrong.
	Known func() bool
}

// knownEvery is how often is looked whether all is known, where a scan waits for it.
const knownEvery = time.Second

// Scanner scans from time to time.
type Scanner struct {
	Options
	led notice.Notice

	mu    sync.Mutex
	state State
	// told is when a scan ended last whose reports were written, all of them.
	told time.Time
}

// State is what the last scan came to.
type State struct {
	// Finished is when the last scan ended, zero before the first; Took how long it
	// took.
	Finished time.Time
	Took     time.Duration
	// Objects were judged.
	Objects int
	// Results by policy and status.
	Results map[Count]int
	// Failures counts what could not be listed, decoded or written, over all scans.
	Failures int
}

// Count is what results are counted by. Policy is NAMESPACE/NAME where it has a
// namespace.
type Count struct{ Kind, Policy, Status string }

// New makes a Scanner.
func New(o Options) *Scanner { return &Scanner{Options: o, led: notice.New()} }

// Led says that this replica has come to lead. It scans at once, unless what it found
// itself is no older than the time between two scans: the one that led before may have
// been interrupted, and nobody else would write what is missing.
func (s *Scanner) Led() { s.led.Give() }

// State is what the last scan came to.
func (s *Scanner) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Ready is always nil: no decision waits for a scan.
func (s *Scanner) Ready() error { return nil }

// Run scans until ctx ends.
func (s *Scanner) Run(ctx context.Context) error {
	ticker := s.Clock.NewTicker(s.Interval)
	defer func() { ticker.Stop() }()
	var later <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-later:
		case <-s.led:
			if s.fresh() {
				continue
			}
			// The next is due after this one.
			ticker.Stop()
			ticker = s.Clock.NewTicker(s.Interval)
		}
		later = nil
		if !s.Leads() {
			continue
		}
		if !s.Known() {
			later = s.Clock.After(knownEvery)
			continue
		}
		if err := s.Scan(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error(err, "not everything could be scanned")
		}
	}
}

// fresh reports whether what this replica wrote last is no older than reports may be.
func (s *Scanner) fresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.told.IsZero() && s.Clock.Since(s.told) < s.Interval
}

// Scan judges everything once. What could not be judged or written is in the
// error; the rest is done all the same.
func (s *Scanner) Scan(ctx context.Context) error {
	begun := s.Clock.Now()
	found := newFindings()
	var errs []error
	kinds, err := s.Objects.Kinds(ctx)
	if len(kinds) == 0 {
		s.fail(1)
		return err
	}
	if err != nil {
		errs = append(errs, found.fail(err))
	}
	for _, kind := range chosen(kinds, s.Set()) {
		if err := s.Objects.Each(ctx, kind.Kind, func(raw []byte) {
			if err := s.judge(ctx, kind, raw, found); err != nil {
				errs = append(errs, found.fail(err))
			}
		}); err != nil {
			errs = append(errs, found.fail(fmt.Errorf("objects of kind %s cannot be listed, and were not judged: %w", kind.GroupVersionKind.Kind, err)))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	told := true
	if s.Reports != nil {
		if err := s.Reports.Write(ctx, found.pages.all()); err != nil {
			errs, told = append(errs, err), false
		}
	}
	now := s.Clock.Now()
	s.mu.Lock()
	if told {
		s.told = now
	}
	s.state = State{Finished: now, Took: now.Sub(begun), Objects: found.objects, Results: found.counts, Failures: s.state.Failures + len(errs)}
	s.mu.Unlock()
	s.Log.Info("scanned", "objects", found.objects, "took", now.Sub(begun).String())
	return errors.Join(errs...)
}

// fail counts failures of a scan that came to nothing.
func (s *Scanner) fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Failures += n
}

// listed is a kind of objects that are listed. asked is the version by which they were
// judged before, where just those rules are left that are not about that one.
type listed struct {
	Kind
	asked *Kind
}

// chosen are the kinds that some rule is applied to: one version of each, the
// first that a rule names, in the order of the API server's preference, and of the
// others those that a rule names which is not about that one.
func chosen(kinds []Kind, set *policy.Set) []listed {
	taken := map[schema.GroupKind]*Kind{}
	var list []listed
	for i := range kinds {
		kind := &kinds[i]
		first := taken[kind.GroupKind()]
		switch {
		case first == nil && set.InBackground(kind.GroupVersionKind, kind.GroupVersion().WithResource(kind.Resource)):
			taken[kind.GroupKind()] = kind
		case first == nil || !set.ConvertedInBackground(kind.GroupVersionKind, first.GroupVersionKind):
			continue
		}
		list = append(list, listed{*kind, first})
	}
	return list
}

func (s *Scanner) judge(ctx context.Context, kind listed, raw []byte, found *findings) error {
	set := s.Set()
	object, err := set.Pods().Decode(kind.GroupVersionKind, raw)
	if err != nil {
		return fmt.Errorf("an object of kind %s cannot be read, and was not judged: %w", kind.GroupVersionKind.Kind, err)
	}
	r := &request.Request{
		// Each is judged at its own time: an exception that ends while a scan goes on
		// excuses nothing after that.
		Door: request.Admission, Time: s.Clock.Now(), ClusterName: s.ClusterName, Background: true,
		Operation: request.Create, Kind: object.GVK, Resource: kind.GroupVersion().WithResource(kind.Resource),
		Namespace: object.Meta.Namespace, Name: object.Meta.Name, Object: object,
		Cluster: cluster.PerRequest(s.Cluster), Host: s.Host,
	}
	if kind.asked != nil {
		r.Converted, r.Asked = true, &request.Asked{Kind: kind.asked.GroupVersionKind, Resource: kind.asked.GroupVersion().WithResource(kind.asked.Resource)}
	} else {
		found.objects++
	}
	ctx, cancel := context.WithTimeout(ctx, policy.DecisionTimeout)
	defer cancel()
	d := set.Decide(ctx, r)
	found.add(r.Namespace, &d)
	return nil
}

// findings are what a scan found so far.
type findings struct {
	objects int
	counts  map[Count]int
	pages   *pages
}

func newFindings() *findings { return &findings{counts: map[Count]int{}, pages: newPages()} }

// fail puts what could not be judged into the report of what has no namespace, so
// that nobody takes silence for compliance. It returns the error.
func (f *findings) fail(err error) error {
	f.pages.add("", &decision.Result{
		Policy: report.Source, Rule: "scan", Kind: "Scan", Status: decision.Error, Action: decision.ActionAudit, Message: decision.Clean(err.Error()),
	})
	return err
}

func (f *findings) add(namespace string, d *decision.Decision) {
	for i := range d.Results {
		r := &d.Results[i]
		f.counts[Count{r.Kind, r.PolicyName(), string(r.Status)}]++
		f.pages.add(namespace, r)
	}
}
