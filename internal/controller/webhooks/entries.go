package webhooks

import (
	"cmp"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/request"
)

// suffix ends the names of the webhooks that follow policies.
const suffix = ".rules.sallyport.io"

func (k class) name() string {
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
	return name + suffix
}

// classOf is the class of a webhook that follows policies; nil for others.
func classOf(name string) *class {
	for _, mutates := range []bool{false, true} {
		for _, k := range classes(mutates) {
			if k.name() == name {
				return &k
			}
		}
	}
	return nil
}

// classes are those of one door, in the order in which their webhooks stand.
func classes(mutates bool) []class {
	var all []class
	for _, ignore := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			for _, wide := range []bool{false, true} {
				all = append(all, class{mutates, ignore, wide, false, own}, class{mutates, ignore, wide, true, own})
			}
		}
	}
	return all
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

func (k class) conditions() []admissionregistrationv1.MatchCondition {
	if k.labels {
		return []admissionregistrationv1.MatchCondition{labelsChange}
	}
	return nil
}

// rules words cells as rules of a webhook: one for the resources of a group that are
// asked about with the same operations, in a scope.
func rules(cells map[cell]bool, scope admissionregistrationv1.ScopeType) []admissionregistrationv1.RuleWithOperations {
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
