package doctor

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity/holders"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var ofPeople = []check{
	{"People", "people.masters", (*looking).masters, false},
	{"People", "people.approve", (*looking).approvers, false},
	{"People", "people.weaken", (*looking).weakeners, false},
}

// mostPeople is how many are named by one check.
const mostPeople = 20

// holding is somebody, with what was found of him, and by which rule first.
type holding struct {
	subject cluster.Subject
	what    []string
	through *cluster.Through
}

// held collects who may do something, in the order in which they are found.
type held struct {
	l   *looking
	all []*holding
}

// add notes who has a grant, but parts of Kubernetes, Sallyport, and those who may do
// everything through no rule.
func (h *held) add(subject cluster.Subject, what string, through *cluster.Through) {
	if through == nil || subject.Kind == rbacv1.GroupKind && subject.Name == cluster.Superusers || holders.IsPart(subject, through) || h.l.isAccount(subject) {
		return
	}
	at := slices.IndexFunc(h.all, func(one *holding) bool { return one.subject == subject })
	if at < 0 {
		at = len(h.all)
		h.all = append(h.all, &holding{subject: subject, through: through})
	}
	if !slices.Contains(h.all[at].what, what) {
		h.all[at].what = append(h.all[at].what, what)
	}
}

// warn says who was found.
func (h *held) warn(s *says, hint string) {
	slices.SortStableFunc(h.all, func(a, b *holding) int { return a.subject.Compare(b.subject) })
	for i, one := range h.all {
		if i == mostPeople {
			s.warn("", "", hint, "and %d more", len(h.all)-mostPeople)
			return
		}
		s.warn(one.subject.String(), "", hint, "may %s (%s)", strings.Join(one.what, "; "), one.through)
	}
}

// masters finds who is, or can be, a member of system:masters: certificates that say so
// cannot be listed.
func (l *looking) masters(ctx context.Context, s *says) {
	const hint = "No authorizer is asked about its members, only admission is. Work as somebody who is bound to cluster-admin, and keep such a certificate for the day on which nothing else works."
	if slices.Contains(l.who.Groups, cluster.Superusers) {
		s.warn("User "+l.who.Username, "", hint, "you are a member of %s", cluster.Superusers)
	}
	roles, err := l.rbac(ctx)
	if err != nil {
		s.unknown("who may impersonate system:masters is not known", err)
		return
	}
	h := &held{l: l}
	for _, holder := range roles.WhoCan(cluster.Question{Attributes: request.Attributes{Verb: "impersonate", Resource: "groups", Name: cluster.Superusers}}).Holders {
		h.add(holder.Subject, "impersonate "+cluster.Superusers, holder.Through)
	}
	h.warn(s, hint)
	s.ok("nobody may impersonate %s; who has a certificate that says so cannot be seen", cluster.Superusers)
}

// approvers finds who holds approve by a wildcard.
func (l *looking) approvers(ctx context.Context, s *says) {
	roles, err := l.rbac(ctx)
	if err != nil {
		s.unknown("who may approve exceptions is not known", err)
		return
	}
	h := &held{l: l}
	for _, kind := range exception.Excusables() {
		q := cluster.Question{Attributes: request.Attributes{Verb: "approve", Group: v1alpha1.GroupVersion.Group, Resource: kind.Resource}, AnyName: true}
		for _, g := range roles.Grants("") {
			for i := range g.Rules {
				rule := &g.Rules[i]
				if !q.Covers(rule.PolicyRule) || !wild(rule.PolicyRule) {
					continue
				}
				for _, subject := range g.Subjects {
					h.add(subject, "approve exceptions to every policy, by a *", g.Through(rule))
				}
			}
		}
	}
	h.warn(s, "Give approve by name: verbs [approve] on the policies that somebody answers for (docs/exceptions.md). Whoever is bound to cluster-admin has it too.")
	s.ok("nobody holds approve by a *")
}

func wild(rule *rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Verbs, rbacv1.VerbAll) || slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) || slices.Contains(rule.Resources, rbacv1.ResourceAll)
}

// weakening is a right by which Sallyport can be made to guard less.
type weakening struct {
	what      string
	verbs     []string
	group     string
	resources []string
	names     []string
	own       bool
	anyName   bool
}

// weakenings are those rights.
func (l *looking) weakenings() []weakening {
	const registrations = "admissionregistration.k8s.io"
	writes := []string{"update", "patch", "delete"}
	var policies, definitions []string
	for _, kind := range exception.Excusables() {
		policies = append(policies, kind.Resource)
		definitions = append(definitions, definitionOf(kind.Kind))
	}
	return []weakening{
		{what: "change or delete the webhooks", verbs: writes, group: registrations, resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, names: []string{l.Name, l.Name + webhooks.RulesSuffix}},
		{what: "take definitions of policies away", verbs: []string{"redefine"}, group: "apiextensions.k8s.io", resources: []string{"customresourcedefinitions"}, names: definitions},
		{what: "change or delete policies", verbs: writes, group: v1alpha1.GroupVersion.Group, resources: policies, anyName: true},
		{what: "change what runs in Sallyport's namespace", verbs: []string{"create", "update", "patch", "delete"}, group: "apps", resources: []string{"deployments"}, own: true, anyName: true},
		{what: "write the configuration that replicas start by", verbs: []string{"create", "update", "patch", "delete"}, resources: []string{"configmaps"}, names: []string{l.Name + "-config"}, own: true},
		{what: "make pods in Sallyport's namespace, which are not judged", verbs: []string{"create"}, resources: []string{"pods"}, own: true},
		{what: "write Secrets of Sallyport's namespace", verbs: []string{"create", "update", "patch"}, resources: []string{"secrets"}, own: true, anyName: true},
		{what: "act as Sallyport's account", verbs: []string{"impersonate"}, resources: []string{"serviceaccounts"}, names: []string{"sallyport"}, own: true},
		{what: "take tokens of Sallyport's account", verbs: []string{"create"}, resources: []string{"serviceaccounts/token"}, names: []string{"sallyport"}, own: true},
		{what: "delete Sallyport's namespace", verbs: []string{"delete"}, resources: []string{"namespaces"}, names: []string{l.Namespace}, own: true},
		{what: "bind or escalate every ClusterRole", verbs: []string{"bind", "escalate"}, group: rbacv1.GroupName, resources: []string{"clusterroles"}},
	}
}

// questions are what has to be asked to find out who has a right.
func (w *weakening) questions(own string) []cluster.Question {
	names := w.names
	if len(names) == 0 {
		names = []string{""}
	}
	if !w.own {
		own = ""
	}
	var all []cluster.Question
	for _, verb := range w.verbs {
		for _, entry := range w.resources {
			resource, subresource, _ := strings.Cut(entry, "/")
			for _, name := range names {
				all = append(all, cluster.Question{AnyName: w.anyName, Attributes: request.Attributes{Verb: verb, Group: w.group, Resource: resource, Subresource: subresource, Name: name, Namespace: own}})
			}
		}
	}
	return all
}

// weakeners finds who may make Sallyport guard less.
func (l *looking) weakeners(ctx context.Context, s *says) {
	roles, err := l.rbac(ctx)
	if err != nil {
		s.unknown("who may weaken Sallyport is not known", err)
		return
	}
	h := &held{l: l}
	for _, w := range l.weakenings() {
		for _, q := range w.questions(l.Namespace) {
			for _, holder := range roles.WhoCan(q).Holders {
				h.add(holder.Subject, w.what, holder.Through)
			}
		}
	}
	h.warn(s, "See that everybody here is meant to: each of these rights is one to switch Sallyport off.")
	s.ok("nobody but members of system:masters and parts of Kubernetes may weaken Sallyport")
}
