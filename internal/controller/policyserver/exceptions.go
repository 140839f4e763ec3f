package policyserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// Exceptions has a server's policies excuse what is excepted, once the account of
// the server may read exceptions. Until then they excuse nothing.
type Exceptions struct {
	Client client.Client
	// Watch watches them until ctx ends, and Synced says whether all were read.
	Watch  func(ctx context.Context) error
	Synced func() bool
	Clock  clock.WithTicker
	Log    logr.Logger

	asked, watching atomic.Bool
}

// askEvery is how often the rights are asked for while some are missing, and askSoon
// while the API server does not say: until it does, nothing is judged.
const (
	askEvery = 30 * time.Second
	askSoon  = 2 * time.Second
)

// Ready says what is missing before requests can be judged. Rights are not: without
// exceptions, more is refused and nothing less.
func (e *Exceptions) Ready() error {
	switch {
	case !e.asked.Load():
		return errors.New("it is not known yet whether exceptions may be read")
	case e.watching.Load() && !e.Synced():
		return errors.New("exceptions were not read yet")
	}
	return nil
}

// Run watches exceptions until ctx ends, as soon as that is allowed.
func (e *Exceptions) Run(ctx context.Context) error {
	told := ""
	for {
		pause := askEvery
		lacks, err := e.lacks(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			pause = askSoon
			e.Log.Error(err, "whether exceptions may be read is not known")
		case len(lacks) == 0:
			e.watching.Store(true)
			e.asked.Store(true)
			return e.Watch(ctx)
		default:
			e.asked.Store(true)
			if what := strings.Join(lacks, ", "); what != told {
				told = what
				e.Log.Info("nothing is excused here, as the account of this server may not read exceptions", "lacks", what, "clusterRole", ServerRole)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.Clock.After(pause):
		}
	}
}

func (e *Exceptions) lacks(ctx context.Context) ([]string, error) {
	var lacks []string
	ours := v1alpha1.GroupVersion
	for _, kind := range exception.Kinds {
		for _, asked := range []authorizationv1.ResourceAttributes{
			{Verb: "list", Group: ours.Group, Version: ours.Version, Resource: v1alpha1.Plural(kind)},
			{Verb: "watch", Group: ours.Group, Version: ours.Version, Resource: v1alpha1.Plural(kind)},
			// Whether exceptions were deleted, or their kind is being taken away.
			{Verb: "get", Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions", Name: v1alpha1.Plural(kind) + "." + ours.Group},
		} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}
			if err := e.Client.Create(ctx, review); err != nil {
				return nil, fmt.Errorf("the rights of this server cannot be asked: %w", err)
			}
			if !review.Status.Allowed {
				lacks = append(lacks, strings.TrimSpace(asked.Verb+" "+asked.Resource+" "+asked.Name))
			}
		}
	}
	return lacks, nil
}
