package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/sallyport-io/sallyport/internal/controller/reached"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var ofDoors = []check{
	{"Doors", "doors.ways", (*looking).ways, false},
	{"Doors", "doors.authorizer", (*looking).authorizer, false},
	{"Doors", "doors.authorizer-cache", (*looking).authorizerCache, false},
	{"Doors", "doors.authorizer-file", (*looking).authorizerFile, true},
}

// word is one by which a replica asks, so that Sallyport answers the questions here too.
// Whoever asks by it gains a refusal.
func (l *looking) word(ctx context.Context) (string, error) {
	heard, err := l.replicas(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range heard {
		if h.Word != "" {
			return h.Word, nil
		}
	}
	return "", errNoLease
}

// canary has the API server ask its webhooks about an object of ours, in a dry run.
func (l *looking) canary(ctx context.Context, s *says) {
	word, err := l.word(ctx)
	if err != nil && !errors.Is(err, errNoLease) {
		s.unknown("whether webhooks reach Sallyport is not known", err)
		return
	}
	found := reached.NewCanary(reached.CanaryOptions{Client: l.Objects, Word: word, Clock: l.Clock}).Send(ctx)
	const hint = "A time-out says that the API server does not reach the pods: try hostNetwork, or open ports.webhook from the control plane. \"unknown authority\" says that caBundle is not the CA of the certificate that is served. \"no endpoints\" says that nobody is there. sallyport doctor --repair says the way out."
	switch {
	case found.Status == metav1.ConditionFalse:
		s.problem("", "", hint, "%s", found.Message)
	case word == "":
		s.unknown("whether Sallyport answers what webhooks ask is not known", err)
	case found.Status == metav1.ConditionTrue:
		s.ok("a canary that the API server asked about in a dry run was answered by Sallyport")
	default:
		s.put(Unknown, "", "", "Run it as somebody who may create policyexceptionresponses, such as one bound to the ClusterRole sallyport-doctor-canary (config/rbac/people/doctor.yaml); webhooks.shipped says whether a webhook asks.", "%s", found.Message)
	}
}

// probes asks what the authorizer asks the side door about.
func (l *looking) probes(ctx context.Context) (*reached.Authorizer, error) {
	word, err := l.word(ctx)
	if err != nil {
		return nil, err
	}
	return reached.NewAuthorizer(reached.AuthorizerOptions{Client: l.API, Word: word, Clock: l.Clock, Leads: func() bool { return true }, Changed: func() {}}), nil
}

// readsLog is the way in that admission never hears of.
var readsLog = policy.AskedDoor{Verb: "get", Resource: "pods", Subresource: "log"}

// ways says by which door each way into a pod is covered.
func (l *looking) ways(ctx context.Context, s *says) {
	found, err := l.webhooks(ctx)
	if err != nil {
		s.unknown("which ways into pods the front door covers is not known", err)
		return
	}
	probes, side := l.probes(ctx)
	var both, front []string
	for i := range deny.IntoPodsBy {
		w := &deny.IntoPodsBy[i]
		atFront := covered(found, w)
		atSide, known := side == nil, side == nil
		for _, verb := range w.Verbs {
			if !known {
				break
			}
			asks, err := l.asks(ctx, probes, policy.AskedDoor{Verb: verb, Resource: w.Resource, Subresource: w.Subresource})
			if err != nil {
				side, atSide, known = err, false, false
				break
			}
			atSide = atSide && asks
		}
		switch {
		case atFront && atSide:
			both = append(both, w.String())
		case atFront:
			front = append(front, w.String())
		case atSide:
			s.warn("", "", asShipped, "%s is asked about by the authorizer only, and members of system:masters are not asked by it", w)
		case known:
			s.problem("", "", asShipped, "%s leads into pods, and neither door asks about it", w)
		default:
			s.problem("", "", asShipped, "%s leads into pods, and the front door does not ask about it; whether the side door does is not known", w)
		}
	}
	s.ok("%s", strings.TrimPrefix(covers(both, "by both doors")+covers(front, "by the front door"), "; "))
}

func covers(ways []string, by string) string {
	if len(ways) == 0 {
		return ""
	}
	return "; " + by + ": " + strings.Join(ways, ", ")
}

// covered reports whether the front door asks about a way, of whatever is shipped.
func covered(found *webhooks.Installed, w *deny.Way) bool {
	operation := request.Connect
	if !w.Connects {
		operation = request.Update
	}
	if slices.ContainsFunc(found.Missing, func(name string) bool { return strings.HasPrefix(name, "Validating") }) {
		return false
	}
	return !slices.ContainsFunc(found.Gaps, func(gap string) bool {
		return strings.HasPrefix(gap, fmt.Sprintf("%s of %s:", operation, w))
	})
}

func (l *looking) asks(ctx context.Context, probes *reached.Authorizer, d policy.AskedDoor) (bool, error) {
	probes.Find(ctx, d)
	asks, known, err := probes.Asks(d)
	if err == nil && !known {
		err = context.Cause(ctx)
	}
	return asks, err
}

// authorizer says what is not covered where the API server has no authorizer that asks.
func (l *looking) authorizer(ctx context.Context, s *says) {
	probes, err := l.probes(ctx)
	if err != nil {
		s.unknown("whether the authorizer asks Sallyport is not known", err)
		return
	}
	const hint = "Give kube-apiserver config/wiring/authorization-config.yaml. Managed clusters (EKS, AKS, GKE) let nobody: there the front door is all there is. The kubeconfig of an authorizer takes a URL and no Service: run Sallyport on control plane nodes with hostNetwork, as a static pod, or behind a load balancer."
	exec, err := l.asks(ctx, probes, policy.AskedDoor{Verb: "create", Resource: "pods", Subresource: "exec"})
	if err != nil {
		s.unknown("whether the authorizer asks Sallyport is not known", err)
		return
	}
	log, err := l.asks(ctx, probes, readsLog)
	switch {
	case err != nil:
		s.unknown("whether the authorizer asks about logs is not known", err)
	case !exec && !log:
		s.warn("", "", hint, "the API server's authorizer does not ask Sallyport. Not covered are: pods/log, whatever else is only read, impersonation, sessions that give more than RBAC does, and requests before RBAC and admission have answered")
	case !exec || !log:
		s.warn("", "", hint, "the API server's authorizer asks Sallyport about some ways into pods only: exec %t, log %t", exec, log)
	}
	s.ok("at least one API server asks Sallyport before RBAC; of another one this says nothing")
}

// authorizerCache finds out whether an API server keeps answers, by whether the same
// question is asked again.
func (l *looking) authorizerCache(ctx context.Context, s *says) {
	probes, err := l.probes(ctx)
	if err != nil {
		s.unknown("whether the authorizer keeps answers is not known", err)
		return
	}
	keeps, known, err := probes.Keeps(ctx, policy.AskedDoor{Verb: "create", Resource: "pods", Subresource: "exec"})
	switch {
	case err != nil:
		s.unknown("whether the authorizer keeps answers is not known", err)
	case !known:
		s.ok("the authorizer asks nothing whose answer could be kept")
	case keeps:
		s.problem("AuthorizationConfiguration", "authorizers[].webhook.cacheUnauthorizedRequests", keepNothing, "an API server keeps Sallyport's answers: one that was withdrawn counts until it is forgotten")
	}
	s.ok("the same question is asked again: refusals are not kept")
}

const keepNothing = "Set cacheAuthorizedRequests: false and cacheUnauthorizedRequests: false in the file of --authorization-config of kube-apiserver."

// authorizerFile looks at what the API server was started with, where somebody gave it:
// no API shows it.
func (l *looking) authorizerFile(_ context.Context, s *says) {
	if l.Authorization == nil {
		s.put(Unknown, "", "", "On a control plane node: sallyport doctor --authorization-config FILE, with the file of kube-apiserver.", "the failure policy of the authorizer, and whether it keeps what it let in, stand in a file that no API shows")
		return
	}
	const object = "AuthorizationConfiguration"
	ahead := ""
	for i := range l.Authorization.Authorizers {
		a := &l.Authorization.Authorizers[i]
		at := fmt.Sprintf("authorizers[%d]", i)
		if a.Webhook == nil || a.Name != "sallyport" {
			ahead = a.Name
			continue
		}
		w := a.Webhook
		if ahead != "" {
			s.problem(object, at, "Put it first: an authorizer is asked only about what none ahead of it let in.", "%s stands ahead of it", ahead)
		}
		for _, kept := range []struct {
			name string
			set  *bool
		}{{"cacheAuthorizedRequests", w.CacheAuthorizedRequests}, {"cacheUnauthorizedRequests", w.CacheUnauthorizedRequests}} {
			// An API server keeps answers where nothing is said.
			if kept.set == nil || *kept.set {
				s.problem(object, at+".webhook."+kept.name, keepNothing, "answers are kept: one that was withdrawn counts until it is forgotten")
			}
		}
		if w.FailurePolicy != apiserverv1.FailurePolicyDeny {
			s.warn(object, at+".webhook.failurePolicy", "Set it to Deny.", "%s: while Sallyport cannot be asked, RBAC decides by itself", w.FailurePolicy)
		}
		if len(w.MatchConditions) == 0 || w.MatchConditions[0].Expression != "has(request.resourceAttributes)" {
			s.problem(object, at+".webhook.matchConditions", "Put has(request.resourceAttributes) first.", "the conditions fail for paths such as /version, which are then refused with Deny")
		}
		s.ok("it stands first, keeps no answers and fails closed")
		return
	}
	s.problem(object, "authorizers", "Take config/wiring/authorization-config.yaml.", "none is named sallyport")
}
