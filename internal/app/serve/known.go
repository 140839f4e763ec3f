package serve

import (
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/clusters"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	feeds "github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// knownFlags are about what must be known before anything is judged.
type knownFlags struct {
	staleness time.Duration
	kindGone  string

	// book has what requests of every cluster need, and own what those of the
	// server's own cluster need beside it.
	book, own   *known.Book
	definitions feeds.Definitions
	// line is the way to the API server of that cluster.
	line feeds.Line
	log  logr.Logger
}

// What is done once a kind of ours was taken away.
const (
	goneRefuse = "refuse"
	goneKeep   = "keep"
)

func (f *knownFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.staleness, "max-staleness", feeds.DefaultStaleness, "time after which what is watched and not heard of any more counts as not known; nothing is judged then")
	flags.StringVar(&f.kindGone, "when-kind-is-gone", goneRefuse, "refuse: nothing is judged while the CustomResourceDefinition of a kind that was read is gone; or keep: what was read of it last stays in force")
}

func (f *knownFlags) check() error {
	switch {
	case f.staleness < feeds.MinStaleness:
		return usage.Errorf("--max-staleness is %s; %s or more is expected", f.staleness, feeds.MinStaleness)
	case f.kindGone != goneRefuse && f.kindGone != goneKeep:
		return usage.Errorf("--when-kind-is-gone is %q; %s or %s is expected", f.kindGone, goneRefuse, goneKeep)
	}
	return nil
}

// open makes the books. Nothing is in them yet.
func (f *knownFlags) open(log *slog.Logger) {
	now := time.Now()
	f.book, f.own, f.log = known.NewBook(now), known.NewBook(now), logr.FromSlogHandler(log.Handler()).WithName("known")
}

// reads has the definitions of our kinds read from the API server that config leads
// to.
func (f *knownFlags) reads(config *rest.Config) (err error) {
	f.definitions, err = feeds.NewDefinitions(config)
	return err
}

// judgedBy are kinds of ours that must be known before anything is judged.
func (f *knownFlags) judgedBy() *ours.Kinds { return f.kinds(f.book) }

// workedOn are kinds of ours that something beside the judging watches.
func (f *knownFlags) workedOn() *ours.Kinds { return f.kinds(nil) }

func (f *knownFlags) kinds(book *known.Book) *ours.Kinds {
	return ours.New(ours.Options{
		Book: book, Definitions: f.definitions, Staleness: f.staleness, KeepGone: f.kindGone == goneKeep, Line: &f.line,
		Clock: clock.RealClock{}, Log: f.log,
	})
}

// follow says how what is watched in the server's own cluster is followed.
func (f *knownFlags) follow(resource string) feeds.Options {
	return feeds.Options{
		Fact: f.own.NewFact(resource, f.staleness, time.Now()), Staleness: f.staleness, Line: &f.line, Clock: clock.RealClock{},
		Log: f.log.WithValues("resource", resource),
	}
}

// inForce is the fact that all kinds that were read were put in force together. It
// comes after those of the kinds, so that a refusal names the one that is to blame.
const inForce = "policies to put in force"

// once is a fact that is known from when ready first gives no error.
func once(ready func() error) known.Source {
	began := time.Now()
	return known.Func(func(time.Time) known.Standing {
		if err := ready(); err != nil {
			return known.Standing{State: known.Unread, Since: began, Why: err.Error()}
		}
		return known.Standing{State: known.Known, Since: began}
	})
}

// states are the facts, for the metrics: those of every cluster first.
func (f *knownFlags) states(own string, hub *clusters.Hub) func() []record.Knowledge {
	return func() []record.Knowledge {
		now := time.Now()
		states := []record.Knowledge{{Facts: f.book.All(now)}, {Cluster: own, Facts: f.own.All(now)}}
		for _, c := range hub.All() {
			states = append(states, record.Knowledge{Cluster: c.ID, Facts: c.Known.All(now)})
		}
		return states
	}
}

// missing says what is not known that requests of the server's own cluster need, a
// sentence each.
func (f *knownFlags) missing() []string {
	var missing []string
	now := time.Now()
	for _, book := range []*known.Book{f.book, f.own} {
		if m := book.Missing(now); m != nil {
			for _, fact := range m.Facts {
				missing = append(missing, fact.Detail())
			}
		}
	}
	return missing
}

// all reports whether nothing is missing.
func (f *knownFlags) all() bool { return len(f.missing()) == 0 }

// ready says what is missing before requests can be judged, a sentence each: what is not
// known, and what sources have not come to yet.
func (f *knownFlags) ready(sources []policySource) func() []string {
	return func() []string {
		missing := f.missing()
		for _, source := range sources {
			if err := source.Ready(); err != nil {
				missing = append(missing, err.Error())
			}
		}
		return missing
	}
}

// warnings say what is known, and cannot be read at the moment: its time runs out, or
// what was read last is kept.
func (f *knownFlags) warnings() []string {
	var warnings []string
	now := time.Now()
	for _, book := range []*known.Book{f.book, f.own} {
		for _, fact := range book.All(now) {
			if fact.State == known.Known && fact.Why != "" {
				warnings = append(warnings, fact.Name+": "+fact.Why)
			}
		}
	}
	return warnings
}
