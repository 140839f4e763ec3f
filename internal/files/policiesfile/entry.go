package policiesfile

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// entry is a policy of the file. The first fields are those of the document "Context
// Aware Policies", the next Kubewarden's, the last Sallyport's own.
type entry struct {
	URL             string                  `json:"url,omitempty"`
	AllowedToMutate bool                    `json:"allowedToMutate,omitempty"`
	ContextAware    []v1alpha1.ContextGrant `json:"contextAware,omitempty"`
	Settings        *apiextensionsv1.JSON   `json:"settings,omitempty"`
	PolicyMode      string                  `json:"policyMode,omitempty"`

	Module                string            `json:"module,omitempty"`
	ContextAwareResources []contextResource `json:"contextAwareResources,omitempty"`
	Message               string            `json:"message,omitempty"`
	TimeoutEvalSeconds    *int32            `json:"timeoutEvalSeconds,omitempty"`
	// Policies and Expression are those of a group.
	Policies   apijson.Raw `json:"policies,omitempty"`
	Expression apijson.Raw `json:"expression,omitempty"`

	Namespace         string                                       `json:"namespace,omitempty"`
	Rules             []admissionregistrationv1.RuleWithOperations `json:"rules,omitempty"`
	NamespaceSelector *metav1.LabelSelector                        `json:"namespaceSelector,omitempty"`
	ObjectSelector    *metav1.LabelSelector                        `json:"objectSelector,omitempty"`
	MatchConditions   []admissionregistrationv1.MatchCondition     `json:"matchConditions,omitempty"`
	FailurePolicy     v1alpha1.FailurePolicy                       `json:"failurePolicy,omitempty"`
	TimeoutSeconds    *int32                                       `json:"timeoutSeconds,omitempty"`
	Capabilities      []v1alpha1.HostCapability                    `json:"capabilities,omitempty"`
	BackgroundAudit   *bool                                        `json:"backgroundAudit,omitempty"`
}

// contextResource is a resource by its kind, all of which may be read.
type contextResource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Prefixes of ids by which Kubewarden tells what kind of policy an entry was made
// from.
const (
	clusterwide = "clusterwide-"
	namespaced  = "namespaced-"
)

// wrong is a field of an entry and what is wrong with it.
type wrong struct{ path, detail string }

// check says what is wrong with an entry beyond what compiling it finds out.
func (e *entry) check(id string) []wrong {
	var found []wrong
	add := func(path, format string, args ...any) {
		found = append(found, wrong{path, fmt.Sprintf(format, args...)})
	}
	if e.Policies != nil || e.Expression != nil {
		add("policies", "this is a group of policies, which is not read here; write each as a policy of its own, all of which have to accept")
		return found
	}
	switch {
	case e.URL == "" && e.Module == "":
		add("url", "is missing; give the address of the module, such as registry://ghcr.io/org/policy:v1")
	case e.URL != "" && e.Module != "":
		add("module", "stands beside url, which means the same; give one of both")
	}
	if e.TimeoutEvalSeconds != nil && e.TimeoutSeconds != nil {
		add("timeoutEvalSeconds", "stands beside timeoutSeconds, which means the same; give one of both")
	}
	if e.Rules != nil && len(e.Rules) == 0 {
		add("rules", "an empty list is about no request; give rules, or leave the field out for those of the module's metadata")
	}
	for i, r := range e.ContextAwareResources {
		if r.APIVersion == "" || r.Kind == "" {
			add(apijson.Element("contextAwareResources", i), "needs an apiVersion and a kind")
		}
	}
	switch {
	case e.Namespace == "" && strings.HasPrefix(id, namespaced):
		add("namespace", "is missing: the policy is one of a namespace, by its id, and it does not say which one; add namespace, or give the policy another id for it to hold in all of them")
	case e.Namespace != "" && strings.HasPrefix(id, clusterwide):
		add("namespace", "stands in a policy of the whole cluster, by its id; leave it out, or give the policy another id")
	case strings.HasPrefix(id, namespaced) && e.nameOf(id) == "":
		add("namespace", "is %q, which the id does not name; it is %sNAMESPACE-NAME", e.Namespace, namespaced)
	}
	if e.Namespace == "" && !strings.HasPrefix(id, namespaced) {
		return found
	}
	const why = "has no place in a policy of a namespace, which %s; leave it out, or make it a policy of the whole cluster"
	if e.ContextAware != nil || e.ContextAwareResources != nil {
		field := "contextAware"
		if e.ContextAware == nil {
			field = "contextAwareResources"
		}
		add(field, why, "reads nothing of the cluster")
	}
	if e.Capabilities != nil {
		add("capabilities", why, "asks nothing beyond its request")
	}
	if e.NamespaceSelector != nil {
		add("namespaceSelector", why, "is only about that namespace")
	}
	return found
}

// nameOf is what the policy is called: its id, without what says of which kind it
// is.
func (e *entry) nameOf(id string) string {
	if e.Namespace != "" && strings.HasPrefix(id, namespaced) {
		name, ok := strings.CutPrefix(id, namespaced+e.Namespace+"-")
		if !ok {
			return ""
		}
		return name
	}
	return strings.TrimPrefix(id, clusterwide)
}

// spec is the entry as a policy. Whatever names no rules has those of its module.
func (e *entry) spec() v1alpha1.AdmissionPolicySpec {
	spec := v1alpha1.AdmissionPolicySpec{
		Module: e.URL + e.Module, Settings: e.Settings, Rules: e.Rules, Mode: v1alpha1.AdmissionPolicyMode(e.PolicyMode),
		Mutating: e.AllowedToMutate, FailurePolicy: e.FailurePolicy, MatchConditions: e.MatchConditions,
		ObjectSelector: e.ObjectSelector, TimeoutSeconds: e.TimeoutSeconds, BackgroundAudit: e.BackgroundAudit, Message: e.Message,
	}
	if e.TimeoutEvalSeconds != nil {
		spec.TimeoutSeconds = e.TimeoutEvalSeconds
	}
	if e.Rules == nil {
		spec.Rules = modulepolicy.AllRules()
	}
	return spec
}

// grants are what the policy may read.
func (e *entry) grants() []v1alpha1.ContextGrant {
	grants := e.ContextAware
	for _, r := range e.ContextAwareResources {
		grants = append(grants, v1alpha1.ContextGrant{APIVersion: r.APIVersion, Kind: r.Kind})
	}
	return grants
}

// field is the name in the file of a field of a policy, by its path there.
func (e *entry) field(path string) string {
	path = strings.TrimPrefix(path, "spec.")
	name := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		name = path[:end]
	}
	rest := path[len(name):]
	switch {
	case name == "metadata" || name == "spec":
		return ""
	case name == "module" && e.Module == "":
		return "url"
	case name == "mode":
		return "policyMode"
	case name == "mutating":
		return "allowedToMutate"
	case name == "timeoutSeconds" && e.TimeoutEvalSeconds != nil:
		return "timeoutEvalSeconds"
	case name == "contextAware":
		var i int
		if n, _ := fmt.Sscanf(rest, "[%d]", &i); n == 1 && i >= len(e.ContextAware) {
			_, rest, _ = strings.Cut(rest, "]")
			return apijson.Element("contextAwareResources", i-len(e.ContextAware)) + rest
		}
	}
	return name + rest
}
