package holders

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// way is one way into the runtime of a pod.
type way struct {
	name, says string
	asks       []ask
}

// ask is what one has to be allowed for a way: any of the verbs is enough.
type ask struct {
	group, resource, subresource string
	verbs                        []string
	anySubresource               bool
	// clusterWide: the resource has no namespace, so that a RoleBinding does not
	// give it.
	clusterWide bool
	// named reports whether a rule for objects of this name is about the runtime;
	// nil: whatever the name.
	named func(*Runtime, string) bool
	// annotated: it is only about runtimes whose identity stands on a service
	// account.
	annotated bool
	guard     guard
}

// Everything is the name of the way of a rule that gives everything.
const Everything = "everything"

var (
	connectVerbs = []string{"create", "get"}
	proxyVerbs   = []string{"get", "create", "update", "patch", "delete"}
	changeVerbs  = []string{"update", "patch"}
	makeVerbs    = []string{"create", "update", "patch"}
	unguardVerbs = []string{"update", "patch", "delete", deleteCollection}
)

const (
	certificatesGroup = "certificates.k8s.io"
	webhooksGroup     = "admissionregistration.k8s.io"
)

// ways gives all of them, in the order in which they are told. makers are what
// makes pods beside the kinds of Kubernetes.
//
// A WebSocket is a get, so get is enough for a connection. Objects that
// are made get any name, so a rule that has names counts for making whatever
// they are: by server-side apply it makes objects of just these.
func ways(makers []ask) []way {
	pods := func(subresource string, named func(*Runtime, string) bool, by guard, verbs ...string) ask {
		return ask{resource: "pods", subresource: subresource, verbs: verbs, named: named, guard: by}
	}
	return append([]way{
		{"exec", "exec into it", []ask{pods("exec", thePod, always, connectVerbs...)}},
		{"attach", "attach to it", []ask{pods("attach", thePod, always, connectVerbs...)}},
		{"portforward", "forward its ports", []ask{pods("portforward", thePod, byPortForward, connectVerbs...)}},
		{"proxy", "reach its ports through the API server", []ask{pods("proxy", thePodProxied, byProxy, proxyVerbs...)}},
		// Which pod answers for a service is decided after the doors were asked.
		{"services", "reach its ports through a service and the API server", []ask{
			{resource: "services", subresource: "proxy", verbs: proxyVerbs},
		}},
		{"ephemeralcontainers", "add an ephemeral container to it", []ask{pods("ephemeralcontainers", thePod, always, changeVerbs...)}},
		{"image", "change its image", []ask{pods("", thePod, always, changeVerbs...)}},
		{"pods", "make another pod like it", []ask{pods("", nil, always, "create")}},
		{"workloads", "make or change what makes pods like it", append(builtinMakers(), makers...)},
		{"account", "put its identity on another service account", []ask{
			{resource: "serviceaccounts", verbs: makeVerbs, annotated: true, guard: always},
		}},
		// A Binding cannot add an identity, and can carry a pod that has one to a
		// node that somebody reads.
		{"binding", "bind pods to a node of their choice", []ask{
			pods("binding", nil, unguarded, "create"), {resource: "bindings", verbs: []string{"create"}},
		}},
	}, past()...)
}

// past are the ways that lead past the doors: those by which somebody becomes
// another, or whose end no door sees.
func past() []way {
	return []way{
		{"node", "reach it through the kubelet of its node", []ask{
			{resource: "nodes", subresource: "proxy", verbs: proxyVerbs, clusterWide: true, named: theNode},
		}},
		{"impersonate", "act as somebody else who reaches it", actingAsAnother()},
		{"token", "take a token of its service account", []ask{
			{resource: "serviceaccounts", subresource: "token", verbs: []string{"create"}, named: theAccount, guard: byToken},
		}},
		// The other account may hold the claim itself.
		{"tokens", "take a token of another service account of its namespace, and act as that", []ask{
			{resource: "serviceaccounts", subresource: "token", verbs: []string{"create"}, named: anotherAccount},
		}},
		// An empty patch answers with the secret, and so does deleting a collection.
		{"secrets", "read the secrets of its namespace, tokens among them", []ask{
			{resource: "secrets", verbs: []string{"get", "list", "watch", "patch", deleteCollection}},
		}},
		{"roles", "give themselves the rights that reach it", []ask{
			{group: rbacv1.GroupName, resource: "roles", verbs: []string{"escalate", "bind"}},
			{group: rbacv1.GroupName, resource: "clusterroles", verbs: []string{"bind"}},
			{group: rbacv1.GroupName, resource: "clusterroles", verbs: []string{"escalate"}, clusterWide: true},
		}},
		{"certificates", "have a client certificate made out to somebody who reaches it", []ask{
			{group: certificatesGroup, resource: "signers", verbs: []string{"approve", "sign"}, clusterWide: true, named: clientSigner},
		}},
		{"webhooks", "change pods as they are admitted", []ask{
			{group: webhooksGroup, resource: "mutatingwebhookconfigurations", verbs: makeVerbs, clusterWide: true},
			{group: webhooksGroup, resource: "mutatingadmissionpolicies", verbs: makeVerbs, clusterWide: true},
			{group: webhooksGroup, resource: "mutatingadmissionpolicybindings", verbs: makeVerbs, clusterWide: true},
		}},
		{"guard", "take away what guards it", []ask{
			{group: webhooksGroup, resource: "validatingwebhookconfigurations", verbs: unguardVerbs, clusterWide: true},
			{group: v1alpha1.GroupVersion.Group, resource: "identitysources", verbs: unguardVerbs, clusterWide: true},
			{group: v1alpha1.GroupVersion.Group, resource: "podkinds", verbs: unguardVerbs, clusterWide: true},
		}},
	}
}

// actingAsAnother are the rights to be another. Who is acted as may reach the runtime
// whoever it is; of nodes, the one that runs it does.
func actingAsAnother() []ask {
	var asks []ask
	for _, r := range impersonation.Rights() {
		if !r.Alone {
			continue
		}
		a := ask{group: r.Group, resource: r.Resource, verbs: r.Verbs, clusterWide: r.ClusterWide}
		if r.Resource == "nodes" {
			a.named = theNode
		}
		asks = append(asks, a)
	}
	return asks
}

const deleteCollection = "deletecollection"

// allowed gives the verbs of the ask that a rule allows to some object at
// least, in the order of the table.
func (a *ask) allowed(rule *rbacv1.PolicyRule) []string {
	var verbs []string
	for _, verb := range a.verbs {
		// A collection has no name, so that a rule for named objects is not about it.
		if verb == deleteCollection && len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, "") {
			continue
		}
		q := cluster.Question{
			Attributes: request.Attributes{Verb: verb, Group: a.group, Resource: a.resource, Subresource: a.subresource},
			AnyName:    true, AnySubresource: a.anySubresource,
		}
		if q.Covers(rule) {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// about reports whether the names of a rule, if it has any, let it be about the
// runtime.
func (a *ask) about(rule *rbacv1.PolicyRule, r *Runtime) bool {
	if a.annotated && !slices.ContainsFunc(r.Claims, func(c Carried) bool { return c.Guards.Annotation }) {
		return false
	}
	return len(rule.ResourceNames) == 0 || a.named == nil ||
		slices.ContainsFunc(rule.ResourceNames, func(name string) bool { return a.named(r, name) })
}

// resourceName is such as pods/exec or deployments.apps.
func (a *ask) resourceName() string {
	name := a.resource
	if a.group != corev1.GroupName {
		name += "." + a.group
	}
	if a.subresource != "" {
		name += "/" + a.subresource
	}
	return name
}

// thePod reports whether a pod of this name is the runtime, or can be one of the
// pods of the workload.
func thePod(r *Runtime, name string) bool {
	switch r.Kind {
	case "Pod":
		return name == r.Name
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob":
		// A long name is cut before its pod's random part is put to it.
		start := r.Name + "-"
		return strings.HasPrefix(name, start[:min(len(start), cutName)])
	default:
		return name != ""
	}
}

// cutName is the length that every name which is cut has left at least: 63 less
// the random part of a name and the longest index of a job.
const cutName = 40

// thePodProxied is thePod for proxy, whose names may have a scheme and a port.
func thePodProxied(r *Runtime, name string) bool { return thePod(r, proxied(name)) }

// theNode reports whether the node is that of the runtime, or may be.
func theNode(r *Runtime, name string) bool { return r.Node == "" || proxied(name) == r.Node }

// theAccount reports whether the service account is the one that the runtime runs
// as, or may be.
func theAccount(r *Runtime, name string) bool {
	return r.ServiceAccount == "" || name == r.ServiceAccount
}

// anotherAccount reports whether it may be another.
func anotherAccount(r *Runtime, name string) bool { return name != "" && name != r.ServiceAccount }

func proxied(name string) string {
	if _, inner, _, ok := utilnet.SplitSchemeNamePort(name); ok {
		return inner
	}
	return name
}

// clientSigner reports whether certificates of the signer let in as somebody.
func clientSigner(_ *Runtime, name string) bool {
	switch name {
	case "kubernetes.io/*", "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/legacy-unknown":
		return true
	}
	return false
}
