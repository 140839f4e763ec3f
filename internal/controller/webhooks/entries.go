package webhooks

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// suffix ends the names of the webhooks that follow policies.
const suffix = ".rules.sallyport.io"

// name is that of the webhook of a class: what it is for, and, for what is converted,
// the version and the group.
func (k class) name() string {
	name := k.kindOfWebhook()
	if k.version.Version != "" {
		name += "." + k.version.Version
	}
	if k.version.Group != "" {
		name += "." + k.version.Group
	}
	return name + suffix
}

func (k class) kindOfWebhook() string {
	name := "fail"
	if k.ignore {
		name = "ignore"
	}
	if k.wide {
		name += "-wide"
	}
	if k.labels {
		name += "-labels"
	}
	if k.own {
		name += "-namespaces"
	}
	return name
}

// classOf is the class of a webhook that follows policies, except for whether it changes
// objects; nil for others.
func classOf(name string) *class {
	name, is := strings.CutSuffix(name, suffix)
	kind, of, _ := strings.Cut(name, ".")
	if !is {
		return nil
	}
	for i := range 1 << 4 {
		k := class{ignore: i&1 != 0, own: i&2 != 0, wide: i&4 != 0, labels: i&8 != 0}
		if k.kindOfWebhook() == kind {
			k.version.Version, k.version.Group, _ = strings.Cut(of, ".")
			return &k
		}
	}
	return nil
}

// compare orders classes as their webhooks stand: those that ask more first.
func (k class) compare(o class) int {
	no := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		no(k.mutates)-no(o.mutates), no(k.ignore)-no(o.ignore), no(k.own)-no(o.own), no(k.wide)-no(o.wide), no(k.labels)-no(o.labels),
		cmp.Compare(k.version.Group, o.version.Group), cmp.Compare(k.version.Version, o.version.Version),
	)
}

// classes are those of which webhooks of one door may be needed, beside those that are
// live, in the order in which they stand.
func (n *needs) classes(mutates bool, live []hook) []class {
	all := map[class]bool{}
	for k := range n.cells {
		if k.mutates == mutates {
			all[k] = true
		}
	}
	for i := range live {
		if k := classOf(live[i].name); k != nil {
			k.mutates = mutates
			all[*k] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), class.compare)
}

func (k class) failurePolicy() *admissionregistrationv1.FailurePolicyType {
	if k.ignore {
		return ptr.To(admissionregistrationv1.Ignore)
	}
	return ptr.To(admissionregistrationv1.Fail)
}

// labelsChange is the match condition of webhooks for what only counts where labels or
// annotations change.
var labelsChange = admissionregistrationv1.MatchCondition{Name: "labels-or-annotations-change", Expression: "object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({}) || object.metadata.?annotations.orValue({}) != oldObject.metadata.?annotations.orValue({})"}

// conditions are those of a class. hidden is set where what is asked about has a body of a
// kind of its own, such as a Scale, which does not show that anything was converted.
func (k class) conditions(hidden bool) (conditions []admissionregistrationv1.MatchCondition) {
	if !k.version.Empty() && !hidden {
		conditions = append(conditions, onlyConverted)
	}
	if k.labels {
		conditions = append(conditions, labelsChange)
	}
	return conditions
}

// rules words cells as rules of a webhook of a class: one for the resources of a group
// that are asked about with the same operations, in a scope.
func (k class) rules(cells map[cell]bool, scope admissionregistrationv1.ScopeType) []admissionregistrationv1.RuleWithOperations {
	type key struct{ group, operations string }
	operationsOf := map[[2]string][]string{}
	for c := range cells {
		at := [2]string{c.group, c.resource}
		operationsOf[at] = append(operationsOf[at], string(c.operation))
	}
	together := map[key]*admissionregistrationv1.RuleWithOperations{}
	for at, names := range operationsOf {
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(rank[request.Operation(a)], rank[request.Operation(b)]) })
		joined := ""
		for _, name := range names {
			joined += name + " "
		}
		r := together[key{at[0], joined}]
		if r == nil {
			r = &admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
				APIGroups: []string{at[0]}, APIVersions: []string{"*"}, Scope: ptr.To(scope),
			}}
			for _, name := range names {
				r.Operations = append(r.Operations, admissionregistrationv1.OperationType(name))
			}
			together[key{at[0], joined}] = r
		}
		r.Resources = append(r.Resources, at[1])
	}
	if !k.version.Empty() {
		for _, r := range together {
			r.APIVersions = []string{k.version.Version}
		}
	}
	keys := slices.SortedFunc(maps.Keys(together), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.operations, b.operations))
	})
	all := make([]admissionregistrationv1.RuleWithOperations, len(keys))
	for i, k := range keys {
		slices.Sort(together[k].Resources)
		all[i] = *together[k]
	}
	return all
}

var rank = map[request.Operation]int{request.Create: 0, request.Update: 1, request.Delete: 2, request.Connect: 3}
