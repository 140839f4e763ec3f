package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Outcome is what became of one claim.
type Outcome string

// The outcomes. Unknown is a refusal: nobody could tell.
const (
	Allowed Outcome = "allowed"
	Denied  Outcome = "denied"
	Unknown Outcome = "unknown"
)

// Answer is what the review of one claim gave.
type Answer struct {
	Claim
	Outcome Outcome
	// Err is why the outcome is unknown.
	Err error
	// Cached is set where the permission was found earlier.
	Cached bool
}

// Answers are those of all claims, in the order of the claims.
type Answers []Answer

// Allowed reports whether every claim is granted. It holds for no claims at all.
func (a Answers) Allowed() bool {
	return !slices.ContainsFunc(a, func(a Answer) bool { return a.Outcome != Allowed })
}

// Refused are the answers that stand in the way.
func (a Answers) Refused() Answers {
	var refused Answers
	for _, answer := range a {
		if answer.Outcome != Allowed {
			refused = append(refused, answer)
		}
	}
	return refused
}

// atOnce bounds how many reviews of one request run at the same time.
const atOnce = 8

var errNobody = errors.New("there is nobody to ask what users may do")

// Review asks, for each claim, whether the user may act as it. The reviews run at
// once, up to a bound. Review returns when all are answered or ctx ends, whichever
// is first; what is not answered by then is unknown. cache may be nil.
func Review(ctx context.Context, authorizer request.Authorizer, user request.User, claims []Claim, cache *Cache) Answers {
	answers := make(Answers, len(claims))
	var open []int
	for i, claim := range claims {
		answers[i] = Answer{Claim: claim, Outcome: Unknown}
		switch {
		case claim.Fault != "":
			answers[i].Outcome = Denied
		case authorizer == nil:
			answers[i].Err = errNobody
		case cache.granted(user, &claim):
			answers[i].Outcome, answers[i].Cached = Allowed, true
		default:
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		ask(ctx, authorizer, user, answers, open, cache)
	}
	return answers
}

// reply is the outcome for the claim at an index.
type reply struct {
	at      int
	outcome Outcome
	err     error
}

// ask fills in the answers that are open.
func ask(ctx context.Context, authorizer request.Authorizer, user request.User, answers Answers, open []int, cache *Cache) {
	// Those who ask may outlive this call, if the authorizer does not heed ctx: the
	// channel holds whatever they have to say, and they share nothing that changes.
	replies := make(chan reply, len(open))
	questions := make([]Claim, len(open))
	for i, at := range open {
		questions[i] = answers[at].Claim
	}
	var next atomic.Int64
	for range min(atOnce, len(open)) {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(questions) {
					return
				}
				r := reply{at: open[i], outcome: Unknown, err: ctx.Err()}
				if r.err == nil {
					r.outcome, r.err = one(ctx, authorizer, user, &questions[i], cache)
				}
				replies <- r
			}
		}()
	}
	for range open {
		select {
		case r := <-replies:
			answers[r.at].Outcome, answers[r.at].Err = r.outcome, r.err
		case <-ctx.Done():
			for _, at := range open {
				if answers[at].Outcome == Unknown && answers[at].Err == nil {
					answers[at].Err = context.Cause(ctx)
				}
			}
			return
		}
	}
}

// one asks about one claim. An authorizer that fails in whatever way grants
// nothing.
func one(ctx context.Context, authorizer request.Authorizer, user request.User, claim *Claim, cache *Cache) (outcome Outcome, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			outcome, err = Unknown, fmt.Errorf("the review broke off: %v", fault)
		}
	}()
	asked := cache.now()
	allowed, err := authorizer.Allowed(ctx, user, claim.Attributes())
	switch {
	case err != nil:
		return Unknown, err
	case !allowed:
		return Denied, nil
	}
	cache.keep(user, claim, asked)
	return Allowed, nil
}
