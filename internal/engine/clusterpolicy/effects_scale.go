package clusterpolicy

import (
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/pattern"
)

// scaled are the kinds that are known to have the subresource scale, which writes their
// spec.replicas. What other custom kinds have only their definitions say.
var scaled = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Version: "v1", Kind: "ReplicationController"},
	{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"},
	{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"},
	{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
}

// ScaleSubresource is what is written when somebody scales.
const ScaleSubresource = "scale"

// scaleForgotten says which rules ask something of spec.replicas and are not asked when
// it is written by the subresource scale, which no other rule of the policy is about
// either.
func scaleForgotten(rules []*Rule, written []v1alpha1.Rule, at *field.Path) []effect.Note {
	var notes []effect.Note
	for i, r := range rules {
		asks, of := asksForReplicas(&written[i].Validate, at)
		if !asks {
			continue
		}
		var forgotten []string
		for _, kind := range scaled {
			// What is excluded of a kind is not looked at.
			if !r.Match.MayAsk(kind, "", request.Update) || r.exclude.MayAsk(kind, "", request.Update) {
				continue
			}
			if !slices.ContainsFunc(rules, func(other *Rule) bool { return other.Match.MayAsk(kind, ScaleSubresource, request.Update) }) {
				forgotten = append(forgotten, kind.Kind+"/"+ScaleSubresource)
			}
		}
		if len(forgotten) > 0 {
			notes = append(notes, effect.ScaleForgotten.Note(at.Index(i).Child("match"), strings.Join(forgotten, ", "), of))
		}
	}
	return notes
}

const (
	sameRule = "beside the kind, as the rule asks nothing else"
	ownRule  = "into a rule of its own that asks it of spec.replicas, as the object of a scale has no other field of the spec"
	someRule = "beside the kind where the rule asks nothing else, or into a rule of its own, as the object of a scale has no field of the spec but spec.replicas"
)

// inExpressions finds spec.replicas, in each way in which CEL can write it.
var inExpressions = regexp.MustCompile(`\bspec\s*\.\s*\??\s*replicas\b|\bspec\s*\[\s*\??\s*["']replicas["']\s*\]`)

// asksForReplicas reports whether something is asked of spec.replicas, and says into
// which rule the subresource belongs.
func asksForReplicas(v *v1alpha1.Validation, at *field.Path) (asks bool, of string) {
	if v.CEL != nil {
		for i := range v.CEL.Expressions {
			asks = asks || inExpressions.MatchString(v.CEL.Expressions[i].Expression)
		}
		for i := range v.CEL.Variables {
			asks = asks || inExpressions.MatchString(v.CEL.Variables[i].Expression)
		}
		return asks, someRule
	}
	of = sameRule
	for _, raw := range []*apiextensionsv1.JSON{v.Pattern, v.AnyPattern} {
		if raw == nil {
			continue
		}
		// One that cannot be read is refused where it is compiled.
		tree, _ := decodePattern(raw, at)
		list, several := tree.([]any)
		if !several {
			list = []any{tree}
		}
		for _, one := range list {
			found, alone := replicasIn(one)
			asks = asks || found
			if !alone {
				of = ownRule
			}
		}
	}
	return asks, of
}

// replicasIn reports whether a pattern demands something of spec.replicas, and whether it
// looks at nothing else. Under a condition nothing is demanded of it.
func replicasIn(tree any) (found, alone bool) {
	object, _ := tree.(map[string]any)
	alone = len(object) == 1
	for key, below := range object {
		spec, ok := below.(map[string]any)
		if !ok || pattern.FieldOf(key) != "spec" {
			alone = false
			continue
		}
		alone = alone && len(spec) == 1
		for name := range spec {
			switch {
			case pattern.FieldOf(name) == "replicas" && !strings.HasPrefix(name, "(") && !strings.HasPrefix(name, "<("):
				found = true
			default:
				alone = false
			}
		}
	}
	return found, alone
}
