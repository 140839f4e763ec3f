package doctor

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
)

var ofWebhooks = []check{
	{"Webhooks", "webhooks.configurations", (*looking).configurations, false},
	{"Webhooks", "webhooks.rules", (*looking).rules, false},
	{"Webhooks", "webhooks.shipped", (*looking).shipped, false},
	{"Webhooks", "webhooks.failure-policy", (*looking).failurePolicy, false},
	{"Webhooks", "webhooks.timeout", (*looking).timeout, false},
	{"Webhooks", "webhooks.exempt-namespaces", (*looking).exempt, false},
	{"Webhooks", "webhooks.service", (*looking).services, false},
	{"Webhooks", "webhooks.network", (*looking).network, false},
	{"Webhooks", "webhooks.answered", (*looking).canary, false},
}

// asShipped is what to do where webhooks are not as they are shipped.
const asShipped = "Apply config/wiring again, or upgrade the release of the chart with webhook.enabled: true."

// ofHooks runs a check that needs the webhooks.
func (l *looking) ofHooks(ctx context.Context, s *says, look func(*webhooks.Installed)) {
	found, err := l.webhooks(ctx)
	if err != nil {
		s.unknown("the webhooks are not known", err)
		return
	}
	look(found)
}

func (l *looking) configurations(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		for _, missing := range found.Missing {
			s.problem(missing, "", asShipped, "it is not there: the API server asks about nothing of what it is for")
		}
		for _, missing := range found.Unfollowed {
			s.warn(missing, "", "Apply config/wiring/ruleswebhookconfigurations.yaml (webhook.follow of the chart).", "it is not there, so that no webhooks follow policies: what they are about beyond pods is not asked about")
		}
		s.ok("the configurations %s and those that follow policies are there", l.Name)
	})
}

func (l *looking) rules(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		for i := range found.Faults {
			f := &found.Faults[i]
			if !webhooks.Ours(f.Webhook) {
				s.warn("webhook "+f.Webhook+" of "+f.Configuration, f.Path.String(), "Correct it, or take it out.", "%s: %s", f.Value, f.Detail)
				continue
			}
			s.problem("webhook "+f.Webhook+" of "+f.Configuration, f.Path.String(), asShipped, "%s: %s", f.Value, f.Detail)
		}
		s.ok("every rule of %d webhooks can be met", len(found.Webhooks))
	})
}

func (l *looking) shipped(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		if len(found.Missing) > 0 {
			s.put(Unknown, "", "", "", "a configuration is not there; see webhooks.configurations")
			return
		}
		for _, gap := range found.Gaps {
			s.problem("", "", asShipped, "%s", gap)
		}
		s.ok("the API server asks about all that the shipped webhooks ask about")
	})
}

func (l *looking) failurePolicy(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		var open []string
		for i := range found.Webhooks {
			w := &found.Webhooks[i]
			switch {
			case w.Refuses || !w.Shipped:
			case w.OwnKinds:
				s.problem("webhook "+w.String(), "failurePolicy", "Set failurePolicy: Fail, whatever it is elsewhere.", "it lets in what Sallyport could not be asked about of its own kinds: that counts once it is back")
			default:
				open = append(open, w.Name)
			}
		}
		if len(open) > 0 {
			s.warn("", "failurePolicy", "Set failurePolicy: Fail once Sallyport is known to answer (webhook.failurePolicy of the chart).", "while Sallyport cannot be asked, this is let in: %s", some(open, 4))
		}
		s.ok("what could not be asked about is refused")
	})
}

// longTimeout is how long an API server should wait at most, in seconds: with a second
// try, as for exec, it is twice as long.
const longTimeout = 15

func (l *looking) timeout(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		for i := range found.Webhooks {
			w := &found.Webhooks[i]
			switch {
			case !w.Shipped:
			case w.TimeoutSeconds > longTimeout:
				s.warn("webhook "+w.String(), "timeoutSeconds", "5 is shipped, 10 for exceptions and sessions.", "the API server waits %d s, and twice as long for exec, while Sallyport does not answer", w.TimeoutSeconds)
			case w.TimeoutSeconds < 2:
				s.warn("webhook "+w.String(), "timeoutSeconds", "5 is shipped, 10 for exceptions and sessions.", "the API server waits %d s; one read of the cluster may take 2 s", w.TimeoutSeconds)
			}
		}
		s.ok("the API server waits for as long as an answer may take")
	})
}

func (l *looking) exempt(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		for _, name := range found.LeftOut {
			s.warn("Namespace "+name, "namespaceSelector", "Take it out of the webhooks (webhook.excludeNamespaces of the chart) if it can wait for Sallyport.", "some webhooks leave it out: what is made there is not guarded")
		}
		if len(s.found) > 0 {
			return
		}
		text := "only Sallyport's own namespace, " + found.Own + ", is left out"
		if len(found.Start) > 0 {
			text += "; controllers of Kubernetes may make pods without being asked about in " + some(found.Start, 5)
		}
		s.ok("%s", text)
	})
}

// services looks whether the Services are there that webhooks lead to, and have somebody
// behind them.
func (l *looking) services(ctx context.Context, s *says) {
	l.ofHooks(ctx, s, func(found *webhooks.Installed) {
		var known []string
		for i := range found.Webhooks {
			service := found.Webhooks[i].Leads.Service
			if service == nil || !found.Webhooks[i].Ours || slices.Contains(known, service.Namespace+"/"+service.Name) {
				continue
			}
			known = append(known, service.Namespace+"/"+service.Name)
			l.service(ctx, s, service.Namespace, service.Name, ptr.Deref(service.Port, 443))
		}
		if len(known) == 0 {
			s.ok("webhooks lead to no Service")
		}
		s.ok("webhooks lead to %s, which has ready endpoints", strings.Join(known, ", "))
	})
}

func (l *looking) service(ctx context.Context, s *says, namespace, name string, port int32) {
	object := "Service " + namespace + "/" + name
	const left = "If Sallyport was uninstalled, take away what it left: sallyport doctor --repair=delete."
	service, err := l.API.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.problem(object, "", left, "webhooks lead to it, and it is not there: the API server refuses what it would ask about")
		return
	case err != nil:
		s.unknown("where webhooks lead is not known", err)
		return
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }) {
		s.problem(object, "spec.ports", asShipped, "webhooks lead to its port %d, which it does not have", port)
	}
	slices, err := l.API.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if err != nil {
		s.unknown("whether somebody is behind "+object+" is not known", err)
		return
	}
	for i := range slices.Items {
		for j := range slices.Items[i].Endpoints {
			if ptr.Deref(slices.Items[i].Endpoints[j].Conditions.Ready, true) {
				return
			}
		}
	}
	s.problem(object, "", "installation.workload and replicas.answering say why. sallyport doctor --repair says the way out.", "webhooks lead to it, and no endpoint of it is ready")
}

// network looks for policies that keep API servers out, which stand outside of the pod
// network.
func (l *looking) network(ctx context.Context, s *says) {
	d, err := l.workload(ctx)
	if err != nil {
		s.unknown("which pods are Sallyport's is not known", err)
		return
	}
	if d == nil {
		s.ok("no pods of Sallyport in the cluster")
		return
	}
	policies, err := l.API.NetworkingV1().NetworkPolicies(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.unknown("which NetworkPolicies there are is not known", err)
		return
	}
	var closed []string
	for i := range policies.Items {
		p := &policies.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(d.Spec.Template.Labels)) || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		if slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return len(r.From) == 0 }) {
			// Policies add up, so that one which lets all in is enough.
			s.ok("NetworkPolicy %s lets API servers in", p.Name)
			return
		}
		closed = append(closed, p.Name)
	}
	for _, name := range closed {
		s.warn("NetworkPolicy "+d.Namespace+"/"+name, "spec.ingress", "Let all sources reach the webhook port (networkPolicy.from: [] of the chart), unless webhooks.answered says that they get through: Sallyport asks its callers who they are.", "it lets in only some sources, and API servers stand outside of the pod network")
	}
	s.ok("no NetworkPolicy keeps API servers out")
}
