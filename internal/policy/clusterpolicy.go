package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/match"
	"github.com/sallyport-io/sallyport/internal/pod"
)

// Kinds in the results of rules.
const (
	KindClusterPolicy = "ClusterPolicy"
	KindPolicy        = "Policy"
)

// rule is a compiled rule of a ClusterPolicy or a Policy.
type rule struct {
	policy, namespace, kind string
	// Names under which the rule stands in results: for what it matches, and as
	// it is generated for what makes pods.
	name, autogen, cronjob string
	match                  *match.Resources
	// generated is set where the rule is about Pods alone, and so holds for
	// whatever makes them.
	generated bool
	message   string
	action    decision.Action
	// ignoreErrors is failurePolicy Ignore.
	ignoreErrors bool
	standard     *standardRule
}

func compilePolicy(kind, namespace, name string, spec *v1alpha1.PolicySpec, pods *pod.Registry) ([]*rule, field.ErrorList) {
	at := field.NewPath("spec")
	var errs field.ErrorList
	var action decision.Action
	switch spec.ValidationFailureAction {
	case "", v1alpha1.Enforce, "enforce":
		action = decision.Enforce
	case v1alpha1.Warn, "warn":
		action = decision.ActionWarn
	case v1alpha1.Audit, "audit":
		action = decision.ActionAudit
	default:
		errs = append(errs, field.NotSupported(at.Child("validationFailureAction"), spec.ValidationFailureAction,
			[]v1alpha1.ValidationFailureAction{v1alpha1.Enforce, v1alpha1.Warn, v1alpha1.Audit}))
	}
	switch spec.FailurePolicy {
	case "", v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore:
	default:
		errs = append(errs, field.NotSupported(at.Child("failurePolicy"), spec.FailurePolicy,
			[]v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore}))
	}
	if len(spec.Rules) == 0 {
		errs = append(errs, field.Required(at.Child("rules"), "requires nothing; give at least one rule"))
	}
	var rules []*rule
	names := map[string]int{}
	for i := range spec.Rules {
		source := &spec.Rules[i]
		ruleAt := at.Child("rules").Index(i)
		if source.Name == "" {
			errs = append(errs, field.Required(ruleAt.Child("name"), "give the rule a name: results and exceptions refer to it"))
		} else if first, taken := names[source.Name]; taken {
			errs = append(errs, field.Invalid(ruleAt.Child("name"), source.Name, fmt.Sprintf("is the name of rules[%d] already; names are unique in a policy", first)))
		}
		names[source.Name] = i
		compiled := &rule{
			policy: name, namespace: namespace, kind: kind,
			name: source.Name, autogen: "autogen-" + source.Name, cronjob: "autogen-cronjob-" + source.Name,
			message: source.Validate.Message, action: action,
			ignoreErrors: spec.FailurePolicy == v1alpha1.FailurePolicyIgnore,
		}
		var more field.ErrorList
		compiled.match, more = match.CompileResources(&source.Match, ruleAt.Child("match"))
		errs = append(errs, more...)
		compiled.standard, more = compileStandard(source.Validate.PodSecurity, ruleAt.Child("validate", "podSecurity"))
		errs = append(errs, more...)
		if compiled.match != nil {
			errs = append(errs, checkMakesPods(compiled.match, ruleAt.Child("match"), pods)...)
			compiled.generated = compiled.match.OnlyPods()
		}
		if kind == KindPolicy {
			errs = append(errs, checkOwnNamespace(source, namespace, ruleAt.Child("match"))...)
		}
		rules = append(rules, compiled)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return rules, nil
}

// checkMakesPods refuses a pod security rule about a kind that holds no pod: it
// would pass everything.
func checkMakesPods(m *match.Resources, path *field.Path, pods *pod.Registry) field.ErrorList {
	var errs field.ErrorList
	m.Kinds(path, func(kind match.Kind, at *field.Path) {
		name, exact := kind.Exact()
		if exact && !pods.MakesKind(name) {
			errs = append(errs, field.Invalid(at, name, "holds no pod that is known here, so validate.podSecurity would pass every one; name Pod or a kind that makes pods"))
		}
	})
	return errs
}

// checkOwnNamespace refuses a Policy that names other namespaces than its own.
func checkOwnNamespace(source *v1alpha1.Rule, namespace string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range source.Match.Any {
		resources := source.Match.Any[i].Resources
		if resources == nil {
			continue
		}
		for j, pattern := range resources.Namespaces {
			if pattern != namespace && pattern != "*" {
				errs = append(errs, field.Invalid(path.Child("any").Index(i).Child("resources", "namespaces").Index(j), pattern,
					fmt.Sprintf("a Policy is about its own namespace %q alone; use a ClusterPolicy", namespace)))
			}
		}
	}
	return errs
}

var podGVK = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// applies reports under which name the rule applies to an object, if it does.
func (r *rule) applies(c *call) (name string, ok bool) {
	object := c.request.Object
	if r.kind == KindPolicy && c.request.Namespace != r.namespace {
		return "", false
	}
	if r.match.Match(object.GVK, c.request.Namespace) {
		return r.name, true
	}
	if !r.generated || object.GVK.Kind == "Pod" || !r.match.Match(podGVK, c.request.Namespace) {
		return "", false
	}
	if object.GVK.Kind == "CronJob" && object.GVK.Group == "batch" {
		return r.cronjob, true
	}
	return r.autogen, true
}

// unjudged is where the failure policy of a rule is carried out, and the only
// place.
func (r *rule) unjudged(base decision.Result, err error) decision.Result {
	base.Status = decision.Error
	base.Message = "cannot be judged: " + err.Error()
	if r.ignoreErrors {
		base.Action = decision.ActionAudit
		base.Message += "; failurePolicy Ignore lets the request through"
	}
	return base
}
