package serve

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/reached"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// reached makes what finds out whether the API server reaches both doors, by the word of
// this replica.
func (f *Flags) reached(config *rest.Config, word string, leads func() bool, log *slog.Logger) (*reached.Authorizer, *reached.Canary, error) {
	reviews, err := kubernetes.NewForConfig(pace.Reached.Of(config))
	if err != nil {
		return nil, nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, nil, err
	}
	objects, err := client.New(pace.Few.Of(config), client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	authorizer := reached.NewAuthorizer(reached.AuthorizerOptions{Client: reviews, Word: word, Leads: leads, Clock: clock.RealClock{}})
	canary := reached.NewCanary(reached.CanaryOptions{
		Client: objects, Word: word, Leads: leads, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("canary"),
	})
	return authorizer, canary, nil
}
