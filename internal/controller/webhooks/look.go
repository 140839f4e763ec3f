package webhooks

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
)

// Webhook is what somebody who looks at an installation has to know of one webhook.
type Webhook struct {
	Configuration, Name string
	Mutates             bool
	Leads               admissionregistrationv1.WebhookClientConfig
	// Refuses is set where the API server refuses what it cannot ask about.
	Refuses        bool
	TimeoutSeconds int32
	// Ours is set for one that is shipped or follows policies, by its name.
	Ours bool
	// Shipped is set where the webhook is one that is shipped, by its name, and OwnKinds
	// where that is about nothing but kinds of ours and their definitions.
	Shipped, OwnKinds bool
}

// String is its name with that of its configuration.
func (w *Webhook) String() string { return w.Name + " of " + w.Configuration }

// Installed are the webhooks of an installation as an API server has them.
type Installed struct {
	// Missing are the configurations that are not there, each by its kind and name;
	// those that follow policies stand in Unfollowed.
	Missing, Unfollowed []string
	Webhooks            []Webhook
	// Gaps is what the webhooks that are shipped ask about, and those that are there do
	// not, or not always; a sentence each.
	Gaps   []string
	Faults []Fault
	// Own is the namespace of Sallyport by what the webhooks leave out, LeftOut are the
	// others that they leave out by their names, and Start those in which controllers of
	// Kubernetes may make pods before Sallyport runs.
	Own            string
	LeftOut, Start []string
	// Canary is where the webhook leads that is asked about the canary; nil if there is
	// none.
	Canary *admissionregistrationv1.WebhookClientConfig
}

// Look reads the webhooks of an installation. name is that of its configurations and
// namespace the one that it runs in; empty where the webhooks say which one they leave
// out. Nothing is written. An error says what could not be read.
func Look(ctx context.Context, api kubernetes.Interface, has discovery.ServerResourcesInterfaceWithContext, name, namespace string) (*Installed, error) {
	found := &Installed{}
	var doors [2]configurations
	for at, mutates := range []bool{false, true} {
		for _, follow := range []bool{false, true} {
			of := name
			if follow {
				of += RulesSuffix
			}
			hooks, there, err := found.read(ctx, api, of, mutates)
			if err != nil {
				return nil, err
			}
			if !there {
				missing := &found.Missing
				if follow {
					missing = &found.Unfollowed
				}
				*missing = append(*missing, configurationKind(mutates)+" "+of)
			}
			if follow {
				doors[at].follow = hooks
				continue
			}
			if doors[at].shipped, err = marked(hooks); err != nil {
				return nil, err
			}
		}
	}
	catalogue, err := read(ctx, has)
	if err != nil {
		return nil, err
	}
	left, err := leavesOut(doors[0].shipped, doors[1].shipped, namespace)
	if err != nil {
		return nil, err
	}
	found.leftOut(left, doors[0].shipped)
	var hooks []hook
	for at := range doors {
		lead := canaryLead(doors[at].shipped, at == 1)
		if at == 0 {
			found.Canary = lead
		}
		left.knows(doors[at].follow)
		stray(doors[at].shipped, lead)
		stray(doors[at].follow, lead)
		hooks = slices.Concat(hooks, doors[at].shipped, doors[at].follow)
	}
	open, err := shippedGapsOf(func(string) bool { return true }, true, catalogue, hooks, left.own)
	if err != nil {
		return nil, err
	}
	for _, g := range open {
		if said := g.String(); !slices.Contains(found.Gaps, said) {
			found.Gaps = append(found.Gaps, said)
		}
	}
	return found, nil
}

func configurationKind(mutates bool) string {
	if mutates {
		return "MutatingWebhookConfiguration"
	}
	return "ValidatingWebhookConfiguration"
}

// read reads a configuration, and adds its webhooks; there is false where there is none.
func (i *Installed) read(ctx context.Context, api kubernetes.Interface, name string, mutates bool) (hooks []hook, there bool, err error) {
	timeouts := map[string]*int32{}
	if mutates {
		var live *admissionregistrationv1.MutatingWebhookConfiguration
		if live, err = api.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err == nil {
			hooks = mutating(live)
			i.Faults = append(i.Faults, faultsOf(hooks)...)
			for j := range live.Webhooks {
				timeouts[live.Webhooks[j].Name] = live.Webhooks[j].TimeoutSeconds
			}
		}
	} else {
		var live *admissionregistrationv1.ValidatingWebhookConfiguration
		if live, err = api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err == nil {
			hooks = validating(live)
			i.Faults = append(i.Faults, faultsOf(hooks)...)
			for j := range live.Webhooks {
				timeouts[live.Webhooks[j].Name] = live.Webhooks[j].TimeoutSeconds
			}
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("the %s %s cannot be read: %w", configurationKind(mutates), name, err)
	}
	parts, err := shippedParts()
	if err != nil {
		return nil, false, err
	}
	for j := range hooks {
		h := &hooks[j]
		w := Webhook{Configuration: h.configuration, Name: h.name, Mutates: mutates, Ours: Ours(h.name), Leads: h.leads, Refuses: h.refuses(), TimeoutSeconds: defaultTimeout}
		if t := timeouts[h.name]; t != nil {
			w.TimeoutSeconds = *t
		}
		if at := slices.IndexFunc(parts, func(p part) bool { return p.name == h.name && p.mutates == mutates }); at >= 0 {
			w.Shipped, w.OwnKinds = true, parts[at].ownKinds()
		}
		i.Webhooks = append(i.Webhooks, w)
	}
	return hooks, true, nil
}

// ownKinds reports whether a webhook is about nothing but kinds of ours, and definitions.
func (p *part) ownKinds() bool {
	return !slices.ContainsFunc(p.cells, func(c cell) bool {
		return c.group != v1alpha1.GroupVersion.Group && c.resource != "customresourcedefinitions" && c.resource != "customresourcedefinitions/status"
	})
}

// Ours reports whether a webhook has the name of one that is shipped, or of one that
// follows policies.
func Ours(name string) bool {
	parts, err := shippedParts()
	return err == nil && slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) || classOf(name) != nil
}

// OwnKinds reports whether a webhook that is shipped is about nothing but kinds of ours and
// their definitions, by its name.
func OwnKinds(name string) bool {
	parts, err := shippedParts()
	return err == nil && slices.ContainsFunc(parts, func(p part) bool { return p.name == name && p.ownKinds() })
}

// defaultTimeout is what an API server fills in, in seconds.
const defaultTimeout = 10

// leftOut notes which namespaces the webhooks that are shipped leave out.
func (i *Installed) leftOut(left *leftOut, shipped []hook) {
	i.Own = left.own
	for j := range shipped {
		names, _ := namesLeftOut(shipped[j].namespaces)
		for _, name := range names {
			if name != left.own && !slices.Contains(i.LeftOut, name) {
				i.LeftOut = append(i.LeftOut, name)
			}
		}
		for _, c := range shipped[j].conditions {
			// Read before, so that there is no error.
			names, is, _ := wiring.LeavesPodsOut(c)
			for _, name := range names {
				if is && !slices.Contains(i.Start, name) {
					i.Start = append(i.Start, name)
				}
			}
		}
	}
	slices.Sort(i.LeftOut)
	slices.Sort(i.Start)
}
