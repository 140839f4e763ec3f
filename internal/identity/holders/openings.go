package holders

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// opening is a rule that may reach runtimes, those of a namespace or all.
type opening struct {
	grant *cluster.Grant
	rule  *cluster.Rule
	// through is written once, however many runtimes it is told of.
	through *cluster.Through
	// asks are none for a rule that gives everything.
	asks []openAsk
	// told keeps the ways by which asks lead to a runtime, and which are guarded:
	// they are the same for most runtimes.
	told map[string]toldWays
}

type openAsk struct {
	way   *way
	ask   *ask
	verbs []string
}

type toldWays struct {
	ways    []Way
	guarded bool
}

// openings finds the rules of grants that open a way, whatever their names.
func (a *Audit) openings(grants []*cluster.Grant) []*opening {
	var found []*opening
	for _, g := range grants {
		if len(g.Subjects) == 0 {
			continue
		}
		for i := range g.Rules {
			o := &opening{grant: g, rule: &g.Rules[i]}
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

// How one ask leads to a runtime.
const (
	notAbout  = '-'
	open      = 'o'
	guardedBy = 'g'
)

// waysTo gives the ways that lead to the runtime, each once, and whether all of
// them are guarded against somebody of whom asked is asked for. buffer is used
// and kept.
func (o *opening) waysTo(r *Runtime, asked *asked, buffer *[]byte) ([]Way, bool) {
	if o.asks == nil {
		return everything, false
	}
	key := (*buffer)[:0]
	for i := range o.asks {
		mark := byte(notAbout)
		if a := o.asks[i].ask; a.about(o.rule.PolicyRule, r) {
			mark = open
			if asked.guard(a) {
				mark = guardedBy
			}
		}
		key = append(key, mark)
	}
	*buffer = key
	told, known := o.told[string(key)]
	if !known {
		told = o.tell(key)
		if o.told == nil {
			o.told = map[string]toldWays{}
		}
		o.told[string(key)] = told
	}
	return told.ways, told.guarded
}

func (o *opening) tell(marks []byte) toldWays {
	told := toldWays{guarded: true}
	for i, mark := range marks {
		if mark == notAbout {
			continue
		}
		a := &o.asks[i]
		if n := len(told.ways); n == 0 || told.ways[n-1].Way != a.way.name {
			told.ways = append(told.ways, Way{Way: a.way.name, Says: a.way.says, Guarded: true})
		}
		w := &told.ways[len(told.ways)-1]
		for _, verb := range a.verbs {
			if !slices.Contains(w.Verbs, verb) {
				w.Verbs = append(w.Verbs, verb)
			}
		}
		w.Resources = append(w.Resources, a.ask.resourceName())
		if mark != guardedBy {
			w.Guarded, told.guarded = false, false
		}
	}
	return told
}
