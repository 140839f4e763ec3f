package webhooks

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// class is a kind of webhook: what differs between them cannot stand in one.
type class struct {
	mutates, ignore bool
	// wide is set for what policies are about that name no kind, and labels for what
	// only counts where labels or annotations change.
	wide, labels bool
	// own is set for policies of namespaces, which are about their own only.
	own bool
	// version is the one that what is asked about is converted to, where a policy names
	// it and it is written by another; empty for as it is written.
	version schema.GroupVersion
}

// cell is one thing that a webhook asks about.
type cell struct {
	group, resource string
	operation       request.Operation
}

// unasked are groups of which policies that name no kind are not asked: what the API
// server asks itself with, what nodes and controllers say that they are alive by, and
// what has to be written so that Sallyport can be repaired. A policy that names a kind
// of them is asked.
var unasked = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"coordination.k8s.io", match.EventsGroup, "internal.apiserver.k8s.io", v1alpha1.GroupVersion.Group,
}

func (s *served) widely() bool {
	return !slices.Contains(unasked, s.group) && (s.group != "" || s.resource != "events")
}

// needs lists what policies have to be asked about, of what the API server has, and
// for each policy what of it.
type needs struct {
	cells map[class]map[cell]bool
	// in are the namespaces of policies that are about their own only, by what these are
	// about.
	in map[class]map[cell]map[string]bool
	// of are those of each policy, and nothing those that name something which the API
	// server does not have, by the policy.
	of      map[stored.Ref]map[class][]cell
	nothing map[stored.Ref][]string
	// unasked are those that name something about which the API server asks no webhook,
	// and elsewhere those that name what an API server of its own serves.
	// Of policies that name no kind, it is beside what they are about.
	unasked, elsewhere, beside map[stored.Ref][]string
	// access are those that hold at either door, and identities those that need what is
	// shipped for them.
	access     map[stored.Ref]policy.AskedAccess
	identities map[stored.Ref]bool
	// refuses are those that want what cannot be asked about refused, where LetIn has
	// webhooks let it in.
	refuses map[stored.Ref]bool
	// left is what is never asked about.
	left *leftOut
}

// needed works out what the policies of a set have to be asked about.
func (o *Options) needed(set *policy.Set, c *catalogue) *needs {
	n := &needs{
		cells: map[class]map[cell]bool{}, in: map[class]map[cell]map[string]bool{}, of: map[stored.Ref]map[class][]cell{}, nothing: map[stored.Ref][]string{},
		unasked: map[stored.Ref][]string{}, elsewhere: map[stored.Ref][]string{}, beside: map[stored.Ref][]string{},
		access: map[stored.Ref]policy.AskedAccess{}, identities: map[stored.Ref]bool{}, refuses: map[stored.Ref]bool{},
	}
	for _, a := range set.AskedAccess() {
		n.access[a.Policy], n.of[a.Policy] = a, nil
	}
	for _, ref := range set.IdentitySources() {
		n.identities[ref], n.of[ref] = true, nil
	}
	asked := set.Asked(o.Here)
	for i := range asked {
		a := &asked[i]
		n.refuses[a.Policy] = o.LetIn && !o.Observe && !a.Ignore
		a.Ignore = a.Ignore || o.Observe || o.LetIn
		n.of[a.Policy] = map[class][]cell{}
		for _, rule := range a.Rules {
			for i := range rule {
				n.kind(a, rule, &rule[i], c)
			}
		}
		for _, r := range a.Resources {
			n.resources(a, r, c)
		}
		if a.MakesPods {
			n.makers(a, c, set.Makes)
		}
	}
	return n
}

func (n *needs) add(a *policy.Asked, k class, s *served, operation request.Operation) {
	namespace := a.Policy.Namespace
	if !s.can(operation) || !match.Can(s.kind, s.subresource, operation) || namespace != "" && !s.inNamespaces() {
		return
	}
	one := cell{s.group, s.name(), operation}
	if s.never() {
		if !k.wide {
			n.unasked[a.Policy] = append(n.unasked[a.Policy], one.String())
		}
		return
	}
	if s.by != "" && !k.labels {
		of := n.elsewhere
		if k.wide {
			of = n.beside
		}
		of[a.Policy] = append(of[a.Policy], fmt.Sprintf("%s by the Service %s", one, s.by))
	}
	k.ignore, k.own = a.Ignore, namespace != ""
	n.ask(a, k, one)
	if a.Mutates && (operation == request.Create || operation == request.Update) {
		// What changes objects refuses nothing: that is for the other door, with all that
		// it is about.
		k.mutates = true
		n.ask(a, k, one)
	}
}

// ask notes that a policy is to be asked about a cell by webhooks of a class.
func (n *needs) ask(a *policy.Asked, k class, one cell) {
	if n.cells[k] == nil {
		n.cells[k] = map[cell]bool{}
	}
	n.cells[k][one] = true
	if k.own {
		n.within(k, one, a.Policy.Namespace)
	}
	if !slices.Contains(n.of[a.Policy][k], one) {
		n.of[a.Policy][k] = append(n.of[a.Policy][k], one)
	}
}

// kind adds what an entry of the match block of a rule is about.
func (n *needs) kind(a *policy.Asked, rule []match.Ask, ask *match.Ask, c *catalogue) {
	found := false
	wide := ask.Kind.AboutAll()
	for i := range c.all {
		s := &c.all[i]
		if !s.named(ask.Kind) {
			if object := s.object(); s.whole && object.named(ask.Kind) && !s.relabelsShipped() && (!wide || s.widely()) && slices.Contains(ask.Operations, request.Update) {
				n.written(a, rule, ask, class{wide: wide, labels: true}, s, object, request.Update, c)
			}
			continue
		}
		found = true
		if wide && !s.widely() {
			continue
		}
		for _, operation := range ask.Operations {
			n.written(a, rule, ask, class{wide: wide}, s, s, operation, c)
		}
	}
	if !found && ask.Kind != nil && !ask.OnlyConverted {
		n.nothing[a.Policy] = append(n.nothing[a.Policy], ask.Kind.Whole())
	}
}

// relabelsShipped reports whether webhooks that are shipped ask about labels and
// annotations that change with a subresource.
func (s *served) relabelsShipped() bool {
	return s.group == "" && s.resource == "pods" && s.subresource == "status"
}

// object is the resource of a subresource.
func (s *served) object() *served {
	return &served{group: s.group, resource: s.resource, kind: s.kind, versions: s.versions}
}

// named reports whether an entry of a match block is about it in some version.
func (s *served) named(k *match.Kind) bool {
	return slices.ContainsFunc(s.versions, func(version string) bool { return s.namedBy(k, s.group, version) })
}

// namedBy reports whether an entry of a match block is about it as a version of a group
// serves it.
func (s *served) namedBy(k *match.Kind, group, version string) bool {
	if k == nil {
		return s.subresource == ""
	}
	return k.Match(schema.GroupVersionKind{Group: group, Version: version, Kind: s.kind}, s.subresource)
}

// resources adds what a rule of a module is about.
func (n *needs) resources(a *policy.Asked, r policy.AskedResources, c *catalogue) {
	for _, name := range r.Resources {
		found, wide := false, (name == "*" || name == "*/*") && slices.Contains(r.Groups, "*")
		for i := range c.all {
			s := &c.all[i]
			if !slices.Contains(r.Groups, "*") && !slices.Contains(r.Groups, s.group) || !match.ResourceNamed(name, s.resource, s.subresource) {
				continue
			}
			found = true
			if wide && !s.widely() {
				continue
			}
			for _, operation := range r.Operations {
				if operation == "*" {
					for _, every := range []request.Operation{request.Create, request.Update, request.Delete, request.Connect} {
						n.add(a, class{wide: wide}, s, every)
					}
					continue
				}
				n.add(a, class{wide: wide}, s, operation)
			}
		}
		if !found && !wide {
			n.nothing[a.Policy] = append(n.nothing[a.Policy], name)
		}
	}
}

// makers adds what makes pods.
func (n *needs) makers(a *policy.Asked, c *catalogue, makes func(schema.GroupKind) bool) {
	for i := range c.all {
		s := &c.all[i]
		if s.subresource == "" && makes(schema.GroupKind{Group: s.group, Kind: s.kind}) {
			n.add(a, class{}, s, request.Create)
			n.add(a, class{}, s, request.Update)
		}
	}
}
