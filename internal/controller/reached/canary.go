package reached

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Times of the canary.
const (
	sendEvery = 30 * time.Second
	// sendSoon is when it is sent again after it was not answered.
	sendSoon  = 2 * time.Second
	sendLimit = 15 * time.Second
	// lasts is how long it has to go unanswered before that is said.
	lasts = 4 * time.Second
)

// CanaryOptions are what a Canary is made of.
type CanaryOptions struct {
	// Client writes the objects of ours.
	Client client.Client
	// Word is the one by which this replica asks.
	Word string
	// Leads reports whether this replica is the one that has to know.
	Leads func() bool
	// Changed is called where what is known has changed. It must return soon.
	Changed func()
	Clock   clock.WithTicker
	Log     logr.Logger
}

// Canary finds out whether the webhooks of the API server reach Sallyport.
type Canary struct {
	CanaryOptions
	wanted notice.Notice

	mu sync.Mutex
	// condition is what is known; its type is empty for nothing.
	condition metav1.Condition
	// wrong is since when the canary is not answered; zero where it is.
	wrong time.Time
}

// NewCanary makes a Canary. Nothing is sent before Run.
func NewCanary(o CanaryOptions) *Canary {
	return &Canary{CanaryOptions: o, wanted: notice.New()}
}

// Notice has the canary sent soon.
func (c *Canary) Notice() { c.wanted.Give() }

// Ready is always nil: no decision waits for what is found out.
func (c *Canary) Ready() error { return nil }

// Reached says whether what webhooks ask reaches Sallyport, whatever the policy; false
// where it is not known yet.
func (c *Canary) Reached(stored.Ref, policy.Version) (metav1.Condition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.condition, c.condition.Type != ""
}

// Answered sends a canary now, and reports whether Sallyport was asked about it.
func (c *Canary) Answered(ctx context.Context) bool {
	return c.Send(ctx).Status == metav1.ConditionTrue
}

// Run sends canaries until ctx ends.
func (c *Canary) Run(ctx context.Context) error {
	for {
		next := sendEvery
		if c.Leads() && !c.probe(ctx) {
			next = sendSoon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(next):
		case <-c.wanted:
		}
	}
}

// probe sends a canary, and reports whether it was answered as it should be.
func (c *Canary) probe(ctx context.Context) bool {
	found := c.Send(ctx)
	if ctx.Err() != nil {
		return true
	}
	fine := found.Status == metav1.ConditionTrue
	c.mu.Lock()
	switch {
	case fine:
		c.wrong = time.Time{}
	case c.wrong.IsZero():
		c.wrong = c.Clock.Now()
	}
	changed := false
	if fine || c.Clock.Since(c.wrong) >= lasts {
		changed, c.condition = c.condition != found, found
	}
	c.mu.Unlock()
	if changed {
		if !fine {
			c.Log.Info("webhooks are not known to reach Sallyport; it is tried again", "reason", found.Reason, "message", found.Message)
		}
		c.Changed()
	}
	return fine
}

// Send has the API server ask about an object of ours that is not made, and says
// whether Sallyport was asked: True where it was, False where it is not reached, Unknown
// where that cannot be known.
func (c *Canary) Send(ctx context.Context) metav1.Condition {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	canary := &v1alpha1.PolicyExceptionResponse{
		ObjectMeta: metav1.ObjectMeta{Name: objectPrefix + strings.ToLower(c.Word)},
		Spec:       v1alpha1.PolicyExceptionResponseSpec{Name: "canary", Status: v1alpha1.ResponseDenied, Reason: "to see whether webhooks reach Sallyport"},
	}
	err := c.Client.Create(ctx, canary, client.DryRunAll)
	found := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse}
	switch {
	case err == nil:
		found.Status, found.Reason, found.Message = metav1.ConditionUnknown, "NotKnown", "whether webhooks reach Sallyport is not known: none asks about exceptions, by which that is seen"
	case strings.Contains(err.Error(), answer(c.Word)):
		found.Status, found.Reason, found.Message = metav1.ConditionTrue, "Reached", "its webhooks reach Sallyport"
	case strings.Contains(err.Error(), "failed calling webhook"):
		found.Reason, found.Message = "NotReached", "a webhook does not reach Sallyport: "+decision.Clean(err.Error())
	default:
		found.Status, found.Reason, found.Message = metav1.ConditionUnknown, "NotKnown", fmt.Sprintf("whether webhooks reach Sallyport is not known: %s", decision.Clean(err.Error()))
	}
	return found
}
