package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// unready is a source that lacks something.
type unready struct{ err error }

func (u unready) Run(context.Context) error { return nil }
func (u unready) Ready() error              { return u.err }

// TestReady names all that is missing: what every cluster needs, what the own one does,
// and what any source has not come to.
func TestReady(t *testing.T) {
	f := &knownFlags{}
	f.open(slog.New(slog.NewTextHandler(io.Discard, nil)))
	var policies, caches, modules error
	f.book.Add("policies", known.Func(func(time.Time) known.Standing { return standing(policies) }))
	f.own.Add("namespaces", known.Func(func(time.Time) known.Standing { return standing(caches) }))
	ready := func() []string {
		f.book.Changed()
		f.own.Changed()
		return f.ready([]policySource{unready{}, unready{modules}})()
	}
	if missing := ready(); len(missing) > 0 {
		t.Errorf("missing: %q", missing)
	}
	for _, lacks := range []*error{&policies, &caches, &modules} {
		*lacks = errors.New("was not read yet")
		if missing := ready(); len(missing) != 1 || !strings.Contains(missing[0], "was not read yet") {
			t.Errorf("missing: %q", missing)
		}
		*lacks = nil
	}
	policies, caches, modules = errors.New("one"), errors.New("two"), errors.New("three")
	if missing := ready(); len(missing) != 3 || !slices.ContainsFunc(missing, func(s string) bool { return strings.Contains(s, "namespaces") }) {
		t.Errorf("missing: %q", missing)
	}
}

func standing(err error) known.Standing {
	if err != nil {
		return known.Standing{State: known.Unread, Since: time.Unix(0, 0), Why: err.Error()}
	}
	return known.Standing{State: known.Known}
}

// synced is a cluster whose caches have, or have not, been read.
type synced struct {
	request.Cluster
	is bool
}

func (s synced) Run(context.Context) error               { return nil }
func (s synced) HasSynced() bool                         { return s.is }
func (s synced) Namespaces() ([]*corev1.Namespace, bool) { return nil, false }

// TestCachesAreReady once they were read.
func TestCachesAreReady(t *testing.T) {
	for _, is := range []bool{true, false} {
		if err := (&clusterSource{cluster: synced{is: is}}).Ready(); (err == nil) != is {
			t.Errorf("read %v: %v", is, err)
		}
	}
}
