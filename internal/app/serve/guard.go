package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// newGuard makes what guards exceptions in the cluster. users are accounts of
// Sallyport beside the one that it runs as.
func newGuard(config *rest.Config, scheme *runtime.Scheme, store *policy.Store, users []string, log *slog.Logger) (*workflow.Guard, error) {
	direct, err := client.New(pace.Reads.Of(config), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	self := &ownAccount{client: direct, more: users, log: log}
	return &workflow.Guard{Reader: direct, Set: store.Set, Own: self.names}, nil
}

// ownAccount finds out, once, which user the API server takes Sallyport for.
type ownAccount struct {
	client client.Client
	more   []string
	log    *slog.Logger

	mu    sync.Mutex
	found []string
}

// selfTimeout bounds the question who Sallyport is.
const selfTimeout = 2 * time.Second

// names are the user names of Sallyport's accounts. While the API server does not
// say who Sallyport is, only those are known that flags name.
func (o *ownAccount) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found != nil {
		return o.found
	}
	ctx, cancel := context.WithTimeout(context.Background(), selfTimeout)
	defer cancel()
	review := &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{}}
	if err := o.client.Create(ctx, review); err != nil {
		o.log.Error("the API server does not say which user this Sallyport is", "error", err)
		return o.more
	}
	o.found = append([]string{review.Status.UserInfo.Username}, o.more...)
	return o.found
}
