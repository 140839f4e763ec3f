package reached

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Times and bounds of the questions.
const (
	askEvery = 20 * time.Second
	// askSoon is when is asked again about what the authorizer does not ask about.
	askSoon = 5 * time.Second
	// keptFor is how long what is no longer wanted is asked about.
	keptFor  = 5 * time.Minute
	askLimit = 5 * time.Second
	mostAsks = 500
	// sameAsks is how often the same is asked to see whether answers are kept.
	sameAsks = 4
)

// AuthorizerOptions are what an Authorizer is made of.
type AuthorizerOptions struct {
	Client kubernetes.Interface
	// Word is the one by which this replica asks.
	Word string
	// Leads reports whether this replica is the one that has to know.
	Leads func() bool
	// Changed is called where an answer has changed. It must return soon.
	Changed func()
	Clock   clock.WithTicker
}

// Authorizer finds out what the API server asks the side door about.
type Authorizer struct {
	AuthorizerOptions
	wanted notice.Notice

	mu    sync.Mutex
	found map[policy.AskedDoor]*finding
}

// finding is what is known of a request.
type finding struct {
	asks, known  bool
	err          error
	at, wantedAt time.Time
}

// NewAuthorizer makes an Authorizer. Nothing is sent before Run.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	return &Authorizer{AuthorizerOptions: o, wanted: notice.New(), found: map[policy.AskedDoor]*finding{}}
}

// Asks reports whether the API server asks the side door about a request; known is false
// where that was not found out yet. The error says why it cannot be.
func (a *Authorizer) Asks(d policy.AskedDoor) (asks, known bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.found[d]
	if f == nil {
		if len(a.found) >= mostAsks {
			return false, true, fmt.Errorf("more than %d kinds of requests would have to be asked about", mostAsks)
		}
		f = &finding{}
		a.found[d] = f
		a.wanted.Give()
	}
	f.wantedAt = a.Clock.Now()
	return f.asks, f.known, f.err
}

// Find finds out at once what Asks then says of a request, where that is not known or was
// found out a while ago.
func (a *Authorizer) Find(ctx context.Context, d policy.AskedDoor) {
	_, _, _ = a.Asks(d)
	now := a.Clock.Now()
	a.mu.Lock()
	f := a.found[d]
	fresh := f == nil || f.known && now.Sub(f.at) < askSoon
	a.mu.Unlock()
	if fresh {
		return
	}
	if asks, err := a.review(ctx, d); ctx.Err() == nil {
		a.note(d, asks, err, now)
	}
}

// note notes an answer, and reports whether it is another than before.
func (a *Authorizer) note(d policy.AskedDoor, asks bool, err error, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.found[d]
	if f == nil {
		return false
	}
	changed := !f.known || f.asks != asks || (f.err == nil) != (err == nil)
	f.asks, f.err, f.known, f.at = asks, err, true, now
	return changed
}

// Ready is always nil: no decision waits for what is found out.
func (a *Authorizer) Ready() error { return nil }

// Run asks until ctx ends.
func (a *Authorizer) Run(ctx context.Context) error {
	ticker := a.Clock.NewTicker(askSoon)
	defer ticker.Stop()
	for {
		if a.Leads() && a.ask(ctx) && ctx.Err() == nil {
			a.Changed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-a.wanted:
		}
	}
}

// ask asks about what is not known, or was asked about long ago, and reports whether
// some answer has changed.
func (a *Authorizer) ask(ctx context.Context) bool {
	now := a.Clock.Now()
	var due []policy.AskedDoor
	a.mu.Lock()
	for d, f := range a.found {
		switch {
		case now.Sub(f.wantedAt) > keptFor:
			delete(a.found, d)
		case !f.known, now.Sub(f.at) >= askEvery, (!f.asks || f.err != nil) && now.Sub(f.at) >= askSoon:
			due = append(due, d)
		}
	}
	a.mu.Unlock()
	changed := false
	for _, d := range due {
		asks, err := a.review(ctx, d)
		if ctx.Err() != nil {
			return changed
		}
		changed = a.note(d, asks, err, now) || changed
	}
	return changed
}

// review has the API server ask about a request of a user who does not exist, for
// something that is not there, and reports whether Sallyport was asked.
func (a *Authorizer) review(ctx context.Context, d policy.AskedDoor) (bool, error) {
	got, err := a.send(ctx, d, strings.ToLower("sallyport-probe-"+rand.Text()))
	if err != nil {
		return false, err
	}
	status := &got.Status
	switch {
	case strings.Contains(status.Reason, answer(a.Word)):
		return status.Denied, nil
	case status.EvaluationError != "":
		return false, fmt.Errorf("an authorizer that the API server asks about %s does not answer: %s", d, status.EvaluationError)
	case status.Denied:
		return false, errors.New("an authorizer refuses " + d.String() + " in other words than Sallyport's: " + status.Reason)
	}
	return false, nil
}

// send has the API server ask about a request for what has a name.
func (a *Authorizer) send(ctx context.Context, d policy.AskedDoor, name string) (*authorizationv1.SubjectAccessReview, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: userPrefix + a.Word,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: name, Name: name, Verb: d.Verb, Group: d.Group, Version: "*", Resource: d.Resource, Subresource: d.Subresource,
		},
	}}
	got, err := a.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("the API server cannot be asked what its authorizers say of %s: %w", d, err)
	}
	return got, nil
}

// Keeps reports whether the API server keeps the answer to a request that is refused, so
// that Sallyport is not asked again about the same; known is false where nothing was
// refused, or by a version whose answers are all alike. More than one API server may
// answer, and one that keeps answers be missed.
func (a *Authorizer) Keeps(ctx context.Context, d policy.AskedDoor) (keeps, known bool, err error) {
	name := strings.ToLower("sallyport-probe-" + rand.Text())
	seen := map[string]bool{}
	for range sameAsks {
		got, err := a.send(ctx, d, name)
		if err != nil {
			return false, false, err
		}
		one := askedOf(got.Status.Reason)
		if !got.Status.Denied || !strings.Contains(got.Status.Reason, answer(a.Word)) || one == "" {
			return false, false, nil
		}
		if seen[one] {
			return true, true, nil
		}
		seen[one] = true
	}
	return false, true, nil
}
