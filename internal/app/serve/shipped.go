package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/certificate"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/shipped"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// shippedFlags say how the webhooks that are shipped look in this cluster.
type shippedFlags struct {
	timeout        time.Duration
	start, exclude []string
	podKinds       []string
	// kinds are podKinds, read.
	kinds []schema.GroupResource
	given func(flag string) bool
	// keeper keeps them; nil where nobody does.
	keeper *shipped.Keeper
}

// mostTimeout is the longest that an API server waits for a webhook.
const mostTimeout = 30 * time.Second

func (f *shippedFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.timeout, "webhook-timeout", wiring.DefaultTimeoutSeconds*time.Second, "with --webhooks all: how long API servers wait for an answer, in whole seconds")
	flags.StringSliceVar(&f.start, "webhook-start-namespaces", nil, "with --webhooks all: namespaces beside kube-system whose pods Kubernetes' own controllers may make while Sallyport is away, such as that of a network plugin; they are not asked about")
	flags.StringSliceVar(&f.exclude, "webhook-exclude-namespaces", nil, "with --webhooks all: namespaces that are not asked about at all, beside Sallyport's own; getting into their pods is")
	flags.StringSliceVar(&f.podKinds, "webhook-pod-kinds", nil, "with --webhooks all: resources of other projects that make pods, such as rollouts.argoproj.io, which are asked about as Deployments are")
	f.given = flags.Changed
}

// check reads the flags; kept is set where the webhooks that are shipped are kept.
func (f *shippedFlags) check(kept bool) error {
	for _, flag := range []string{"webhook-timeout", "webhook-start-namespaces", "webhook-exclude-namespaces", "webhook-pod-kinds"} {
		if f.given(flag) && !kept {
			return usage.Errorf("--%s is about the webhooks that are shipped, which nobody keeps; give --webhooks %s too", flag, webhooksAll)
		}
	}
	if f.timeout < time.Second || f.timeout > mostTimeout || f.timeout%time.Second != 0 {
		return usage.Errorf("--webhook-timeout is %s; whole seconds are expected, from 1s to %s", f.timeout, mostTimeout)
	}
	for flag, names := range map[string][]string{"webhook-start-namespaces": f.start, "webhook-exclude-namespaces": f.exclude} {
		for _, name := range names {
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				return usage.Errorf("--%s has %q, which is not the name of a namespace: %s", flag, name, problems[0])
			}
		}
	}
	f.kinds = nil
	for _, given := range f.podKinds {
		kind := schema.ParseGroupResource(given)
		if !strings.Contains(kind.Group, ".") || len(validation.IsDNS1123Subdomain(kind.Group)) > 0 || len(validation.IsDNS1123Label(kind.Resource)) > 0 {
			return usage.Errorf("--webhook-pod-kinds has %q; RESOURCE.GROUP is expected, such as rollouts.argoproj.io. Those of Kubernetes are asked about already", given)
		}
		f.kinds = append(f.kinds, kind)
	}
	return nil
}

// keepShipped has the webhooks that are shipped kept by the controller of those that follow
// policies. canary reports whether they would be answered.
func (f *Flags) keepShipped(config *rest.Config, leads func() bool, canary func(context.Context) bool, log *slog.Logger) (*shipped.Keeper, error) {
	if f.webhooks.mode != webhooksAll {
		return nil, nil
	}
	client, err := kubernetes.NewForConfig(pace.Webhooks.Of(leader.Only(config, leads)))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	place, flags := f.certificate.place, &f.webhooks.shipped
	installed := wiring.Installed{
		Namespace: cmp.Or(podNamespace(), place.Namespace, wiring.Namespace), Name: place.Service, Port: place.Port, FailurePolicy: admissionregistrationv1.Fail,
		TimeoutSeconds: int32(flags.timeout / time.Second), Start: flags.start, Exclude: flags.exclude, PodKinds: flags.kinds,
	}
	if place.Host != "" {
		installed.URL = place.String()
	} else if place.Namespace != installed.Namespace {
		return nil, usage.Errorf("--service is %s, and this Sallyport runs in the namespace %s; the Service that webhooks lead to is in the same", place, installed.Namespace)
	}
	if f.server.Observe || f.webhooks.letsIn() {
		installed.FailurePolicy = admissionregistrationv1.Ignore
	}
	o := shipped.Options{
		Client: client, Name: f.webhooks.name, Installed: installed, Canary: canary, Clock: clock.RealClock{},
		Log: logr.FromSlogHandler(log.Handler()).WithName("webhooks"),
	}
	switch keeper := f.certificate.keeper; {
	case keeper != nil:
		// It keeps what webhooks trust, once there are any.
		o.CA = func() ([]byte, error) {
			ca, err := keeper.Bundle(nil)
			if err != nil {
				return nil, nil //nolint:nilerr // there is none yet, of which the keeper speaks
			}
			return ca, nil
		}
	case f.hosting.ownCA != "":
		o.CA, o.KeepsCA = func() ([]byte, error) { return os.ReadFile(f.hosting.ownCA) }, true
		o.Beside = func(ca, trusted []byte) []byte {
			shows, _ := f.surveying.replicas.Others()
			return certificate.Beside(ca, trusted, shows)
		}
	}
	return shipped.New(o)
}

// warnings say which webhooks are missing.
func (f *shippedFlags) warnings() []string {
	if f.keeper == nil {
		return nil
	}
	return f.keeper.Warnings()
}
