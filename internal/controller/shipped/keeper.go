// Package shipped keeps the webhooks that Sallyport ships in the configurations that were
// installed for them, so that whoever installs it installs no list: one that is there before
// Sallyport answers, or before API servers can show who they are, stops a cluster.
package shipped

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// FieldOwner is in whose name the webhooks are written.
const FieldOwner = "sallyport-webhooks"

// Options are what a Keeper is made of.
type Options struct {
	Client kubernetes.Interface
	// Name is that of both configurations.
	Name string
	// Installed says how the webhooks look here, without a CA.
	Installed wiring.Installed
	// CA is what webhooks are to trust, in PEM; nothing where that is not known yet. Nil
	// where another program fills it in.
	CA func() ([]byte, error)
	// KeepsCA has the CA put in place of what webhooks trust; otherwise only what has
	// none yet gets it, as something else keeps it afterwards.
	KeepsCA bool
	// Reached reports whether a webhook about Sallyport's own kinds was answered, so that
	// those about the rest of the cluster would be.
	Reached func() bool
	Log     logr.Logger
}

// Keeper keeps the webhooks that are shipped.
type Keeper struct {
	Options
	judging, changing []admissionregistrationv1.MutatingWebhook
}

// New makes a Keeper. It is an error if the webhooks cannot be worked out.
func New(o Options) (*Keeper, error) {
	judges, changes, err := o.Installed.Webhooks()
	if err != nil {
		return nil, fmt.Errorf("the webhooks that are shipped cannot be worked out: %w", err)
	}
	return &Keeper{Options: o, judging: asChanging(judges.Webhooks), changing: changes.Webhooks}, nil
}

// Keep makes the webhooks what they are to be, as far as they may be yet, and reports
// whether they are. A configuration that is not there is not made: whoever took it away
// has uninstalled it. It is for the replica that leads.
func (k *Keeper) Keep(ctx context.Context) (complete bool, err error) {
	var ca []byte
	if k.CA != nil {
		if ca, err = k.CA(); err != nil {
			return false, fmt.Errorf("what webhooks are to trust cannot be read: %w", err)
		}
		if len(ca) == 0 {
			return false, nil
		}
	}
	reached := k.Reached()
	judges, err := k.keepJudging(ctx, ca, reached)
	changes, also := k.keepChanging(ctx, ca, reached)
	return judges && changes, errors.Join(err, also)
}

func (k *Keeper) keepJudging(ctx context.Context, ca []byte, reached bool) (complete bool, err error) {
	api := k.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	live, err := api.Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the ValidatingWebhookConfiguration %s cannot be read: %w", k.Name, err)
	}
	before := asChanging(live.Webhooks)
	after, complete := k.plan(before, k.judging, ca, reached)
	if apiequality.Semantic.DeepEqual(before, after) {
		return complete, nil
	}
	live.Webhooks = asJudging(after)
	if _, err := api.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldOwner}); err != nil {
		return false, unwritten("ValidatingWebhookConfiguration", k.Name, err)
	}
	k.Log.Info("webhooks were written", "configuration", k.Name, "mutating", false, "webhooks", len(after), "complete", complete)
	return complete, nil
}

func (k *Keeper) keepChanging(ctx context.Context, ca []byte, reached bool) (complete bool, err error) {
	api := k.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	live, err := api.Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the MutatingWebhookConfiguration %s cannot be read: %w", k.Name, err)
	}
	after, complete := k.plan(live.Webhooks, k.changing, ca, reached)
	if apiequality.Semantic.DeepEqual(live.Webhooks, after) {
		return complete, nil
	}
	live = live.DeepCopy()
	live.Webhooks = after
	if _, err := api.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldOwner}); err != nil {
		return false, unwritten("MutatingWebhookConfiguration", k.Name, err)
	}
	k.Log.Info("webhooks were written", "configuration", k.Name, "mutating", true, "webhooks", len(after), "complete", complete)
	return complete, nil
}

// unwritten is why a configuration was not written; nil where it was taken away meanwhile.
// The version that was read is written against, so that one that was made again is read
// again first.
func unwritten(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the webhooks of the %s %s cannot be written: %w", kind, name, err)
}
