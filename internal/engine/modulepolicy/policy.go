package modulepolicy

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// Policy is a compiled ClusterAdmissionPolicy or AdmissionPolicy.
type Policy struct {
	Rule  *clusterpolicy.Rule
	Guest *runner.Policy
	// Rules, one of which has to be about the request. With named, they hold until
	// the module is there and says itself what it is for.
	Rules []*WebhookRule
	Named *NamedRules
	// Namespaces and objects are nil where every one is meant.
	Namespaces, objects labels.Selector
	conditions          *expression.Conditions
	// Broken is set where the policy cannot work, and stranded where the PolicyServer
	// cannot that runs it. wide is set where it names no resources.
	Broken, stranded *stored.Broken
	Wide             bool
}

// Compile compiles a policy that is a module. wide is nil for an
// AdmissionPolicy.
func Compile(kind string, meta *metav1.ObjectMeta, spec *v1alpha1.AdmissionPolicySpec, wide *v1alpha1.ClusterAdmissionPolicySpec) (*Policy, field.ErrorList) {
	at := field.NewPath("spec")
	p := &Policy{Rule: &clusterpolicy.Rule{
		Policy: meta.Name, Namespace: meta.Namespace, Kind: kind, Name: stored.RuleModule, Autogen: stored.RuleModule, Cronjob: stored.RuleModule,
		Message: spec.Message, Action: decision.Enforce, Background: spec.BackgroundAudit == nil || *spec.BackgroundAudit,
		IgnoreErrors: spec.FailurePolicy == v1alpha1.FailurePolicyIgnore,
	}}
	var errs field.ErrorList
	if wrong := runner.CheckModule(spec.Module, meta.Namespace); wrong != "" {
		errs = append(errs, field.Invalid(at.Child("module"), spec.Module, wrong))
	}
	switch spec.Mode {
	case "", v1alpha1.ModeProtect:
	case v1alpha1.ModeMonitor:
		p.Rule.Action = decision.ActionAudit
	default:
		errs = append(errs, field.NotSupported(at.Child("mode"), spec.Mode, []v1alpha1.AdmissionPolicyMode{v1alpha1.ModeProtect, v1alpha1.ModeMonitor}))
	}
	switch spec.FailurePolicy {
	case "", v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore:
	default:
		errs = append(errs, field.NotSupported(at.Child("failurePolicy"), spec.FailurePolicy, []v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore}))
	}
	timeout := runner.DefaultTimeout
	if t := spec.TimeoutSeconds; t != nil {
		if *t < 1 || *t > 30 {
			errs = append(errs, field.Invalid(at.Child("timeoutSeconds"), *t, "is not a time between 1 and 30 seconds"))
		}
		timeout = time.Duration(*t) * time.Second
	}
	if len(spec.Rules) == 0 {
		errs = append(errs, field.Required(at.Child("rules"), "is about no request; give at least one rule"))
	}
	for i := range spec.Rules {
		path := at.Child("rules").Index(i)
		rule, more := compileWebhookRule(&spec.Rules[i], path)
		if len(more) == 0 && meta.Namespace != "" {
			more = rule.CheckNamespaced(path)
		}
		p.Rules, errs = append(p.Rules, rule), append(errs, more...)
	}
	errs = append(errs, checkServerName(spec.PolicyServer, at.Child("policyServer"))...)
	var more field.ErrorList
	p.objects, more = compileSelector(spec.ObjectSelector, at.Child("objectSelector"))
	errs = append(errs, more...)
	if p.objects != nil && len(errs) == 0 && !slices.ContainsFunc(p.Rules, (*WebhookRule).showsObjects) {
		errs = append(errs, field.Invalid(at.Child("objectSelector"), metav1.FormatLabelSelector(spec.ObjectSelector), "selects nothing: the rules are only about CONNECT, which comes with options in place of an object, and these have no labels; use matchConditions"))
	}
	conditions := make([]v1alpha1.CELCondition, 0, len(spec.MatchConditions))
	for i, c := range spec.MatchConditions {
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("matchConditions").Index(i).Child("name"), "give the condition a name"))
		}
		conditions = append(conditions, v1alpha1.CELCondition{Name: c.Name, Expression: c.Expression})
	}
	p.conditions, more = expression.CompileConditions(conditions, at.Child("matchConditions"))
	errs = append(errs, more...)

	asked := runner.Spec{
		Kind: kind, Namespace: meta.Namespace, Name: meta.Name, Server: spec.PolicyServer, Module: spec.Module,
		Mutating: spec.Mutating, Timeout: timeout,
	}
	if spec.Settings != nil {
		if asked.Settings = json.RawMessage(bytes.TrimSpace(spec.Settings.Raw)); apijson.Raw(asked.Settings).IsNull() {
			asked.Settings = nil
		} else if asked.Settings[0] != '{' {
			errs = append(errs, field.Invalid(at.Child("settings"), string(asked.Settings), "is not a map; settings are names with values"))
		}
	}
	if wide != nil {
		p.Namespaces, more = compileSelector(wide.NamespaceSelector, at.Child("namespaceSelector"))
		errs = append(errs, more...)
		asked.Grants, more = contextgate.GrantsOf(wide.ContextAware, at.Child("contextAware"))
		errs = append(errs, more...)
		asked.Capabilities, more = compileCapabilities(wide.Capabilities, at.Child("capabilities"))
		errs = append(errs, more...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	var err error
	if p.Guest, err = runner.New(asked); err != nil {
		return nil, field.ErrorList{field.Invalid(at.Child("contextAware"), field.OmitValueType{}, err.Error())}
	}
	return p, nil
}

// compileSelector reads a selector; nil selects every one, as an empty one does.
func compileSelector(from *metav1.LabelSelector, path *field.Path) (labels.Selector, field.ErrorList) {
	if from == nil {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(from)
	switch {
	case err != nil:
		return nil, field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(from), err.Error())}
	case selector.Empty():
		return nil, nil
	}
	return selector, nil
}
