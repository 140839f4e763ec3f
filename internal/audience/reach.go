package audience

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// Runtime is a pod, or a workload whose pods are meant.
type Runtime struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// ServiceAccount that it runs as.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Node that it runs on; empty where it may be any.
	Node   string  `json:"node,omitempty"`
	Claims []Claim `json:"claims"`
}

// Way is what somebody may do to reach a runtime.
type Way struct {
	// Way is its name, such as exec. Names do not change.
	Way  string `json:"way"`
	Says string `json:"says"`
	// Verbs, any of which is enough, and the resources that they are allowed on.
	Verbs     []string `json:"verbs"`
	Resources []string `json:"resources"`
}

// Access is one rule by which somebody reaches a runtime, with all the ways that
// it opens.
type Access struct {
	Subject cluster.Subject  `json:"subject"`
	Ways    []Way            `json:"ways"`
	Through *cluster.Through `json:"through,omitempty"`
}

// String is one line for people.
func (a *Access) String() string {
	words := make([]string, len(a.Ways))
	for i, w := range a.Ways {
		words[i] = w.Says + " (" + strings.Join(w.Verbs, ", ") + " of " + cut(w.Resources) + ")"
	}
	line := a.Subject.String() + " may " + strings.Join(words, "; ")
	if a.Through == nil {
		return line + ": through no rule"
	}
	return line + ": " + a.Through.String()
}

// cut lists some and counts the rest.
func cut(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// Reached is who can reach a runtime.
type Reached struct {
	// Accesses in the order of subject, binding and rule, the group system:masters
	// first.
	Accesses []Access `json:"accesses"`
	// More counts those that were left out.
	More int `json:"more,omitempty"`
	// Missing are bindings whose role is not there.
	Missing []cluster.MissingRole `json:"missing,omitempty"`
}

// DefaultLimit is how many accesses are listed of one runtime at most.
const DefaultLimit = 1000

// Options of an Audit.
type Options struct {
	// Makers are resources that make pods, beside those of Kubernetes. Nil: those
	// that Makers lists.
	Makers []schema.GroupResource
	// Limit is how many accesses are listed of one runtime at most; 0: DefaultLimit.
	Limit int
}

// Audit answers for the runtimes of one cluster. It keeps what it has found out
// of a namespace, and is not safe for concurrent use.
type Audit struct {
	rbac       *cluster.RBAC
	ways       []way
	limit      int
	everywhere []opening
	local      map[string][]opening
	holders    map[Claim]*cluster.Answer
}

// New makes an Audit.
func New(rbac *cluster.RBAC, o Options) *Audit {
	if o.Makers == nil {
		o.Makers = Makers()
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	makers := make([]ask, len(o.Makers))
	for i, m := range o.Makers {
		makers[i] = ask{group: m.Group, resource: m.Resource, verbs: makeVerbs}
	}
	a := &Audit{rbac: rbac, ways: ways(makers), limit: o.Limit, local: map[string][]opening{}, holders: map[Claim]*cluster.Answer{}}
	a.everywhere = a.openings(rbac.Grants(""))
	return a
}

// opening is a rule that may reach runtimes, those of a namespace or all.
type opening struct {
	grant *cluster.Grant
	rule  *cluster.Rule
	// through is written once, however many runtimes it is told of.
	through *cluster.Through
	asks    []openAsk
}

type openAsk struct {
	way   *way
	ask   *ask
	verbs []string
}

// openings finds the rules of grants that open a way, whatever their names.
func (a *Audit) openings(grants []*cluster.Grant) []opening {
	var found []opening
	for _, g := range grants {
		if len(g.Subjects) == 0 {
			continue
		}
		for i := range g.Rules {
			o := opening{grant: g, rule: &g.Rules[i]}
			if !allowsEverything(o.rule.PolicyRule) {
				o.asks = a.opened(g, o.rule.PolicyRule)
				if len(o.asks) == 0 {
					continue
				}
			}
			o.through = g.Through(o.rule)
			found = append(found, o)
		}
	}
	return found
}

func (a *Audit) opened(g *cluster.Grant, rule *rbacv1.PolicyRule) []openAsk {
	var asks []openAsk
	for i := range a.ways {
		w := &a.ways[i]
		for j := range w.asks {
			if w.asks[j].clusterWide && g.Binding.Namespace != "" {
				continue
			}
			if verbs := w.asks[j].allowed(rule); len(verbs) > 0 {
				asks = append(asks, openAsk{w, &w.asks[j], verbs})
			}
		}
	}
	return asks
}

func allowsEverything(rule *rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Verbs, "*") && slices.Contains(rule.APIGroups, "*") && slices.Contains(rule.Resources, "*") && len(rule.ResourceNames) == 0
}

// Reach lists who can reach a runtime, and through which rule. It is one step:
// that somebody may act as another, or take a token of a service account, is
// listed whether or not that other one reaches anything.
func (a *Audit) Reach(r Runtime) Reached {
	var reached Reached
	reached.Accesses, reached.Missing = a.reach(&r)
	if more := len(reached.Accesses) - a.limit; more > 0 {
		reached.Accesses, reached.More = reached.Accesses[:a.limit], more
	}
	return reached
}

func (a *Audit) reach(r *Runtime) ([]Access, []cluster.MissingRole) {
	grants := a.rbac.Grants(r.Namespace)
	local, known := a.local[r.Namespace]
	if !known && r.Namespace != "" {
		local = a.openings(grants[len(a.rbac.Grants("")):])
		a.local[r.Namespace] = local
	}
	everything := []Way{{Way: Everything, Says: "do everything", Verbs: []string{"*"}, Resources: []string{"*"}}}
	accesses := []Access{{Subject: cluster.Subject{Kind: rbacv1.GroupKind, Name: cluster.Superusers}, Ways: everything}}
	for _, openings := range [][]opening{a.everywhere, local} {
		for i := range openings {
			o := &openings[i]
			found := everything
			if o.asks != nil {
				if found = o.waysTo(r); len(found) == 0 {
					continue
				}
			}
			for _, s := range o.grant.Subjects {
				accesses = append(accesses, Access{s, found, o.through})
			}
		}
	}
	slices.SortStableFunc(accesses[1:], func(a, b Access) int { return a.Subject.Compare(b.Subject) })
	var missing []cluster.MissingRole
	for _, g := range grants {
		if m := g.MissingRole(); m != nil {
			missing = append(missing, *m)
		}
	}
	return accesses, missing
}

// waysTo gives the ways that lead to the runtime, each once.
func (o *opening) waysTo(r *Runtime) []Way {
	var found []Way
	for i := range o.asks {
		open := &o.asks[i]
		if !open.ask.about(o.rule.PolicyRule, r) {
			continue
		}
		if len(found) == 0 || found[len(found)-1].Way != open.way.name {
			found = append(found, Way{Way: open.way.name, Says: open.way.says})
		}
		w := &found[len(found)-1]
		for _, verb := range open.verbs {
			if !slices.Contains(w.Verbs, verb) {
				w.Verbs = append(w.Verbs, verb)
			}
		}
		w.Resources = append(w.Resources, open.ask.resourceName())
	}
	return found
}
