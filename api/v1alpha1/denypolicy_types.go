package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DenyPolicy denies access to what already runs: whole requests by their verb
// and resource, and exec, attach, port-forward and the like by the risk of the
// pod that is entered.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=denypol,categories=sallyport
// +kubebuilder:printcolumn:name="Precedence",type=integer,JSONPath=`.spec.precedence`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.enforcementAction`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DenyPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DenyPolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// DenyPolicyList is a list of DenyPolicy.
//
// +kubebuilder:object:root=true
type DenyPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DenyPolicy `json:"items"`
}

// DenyPolicySpec says which requests are denied. At least one of rules and
// podSecurityRules is required.
//
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || has(self.podSecurityRules)",message="rules or podSecurityRules is required: a policy with neither denies nothing"
type DenyPolicySpec struct {
	// appliesTo narrows the policy to clusters, tenants and breakglass
	// sessions. Not given, the policy holds for every request.
	// +optional
	AppliesTo *DenyPolicyScope `json:"appliesTo,omitempty"`

	// rules deny requests by what they ask for. The first that matches denies.
	// +optional
	// +listType=atomic
	Rules []DenyRule `json:"rules,omitempty"`

	// podSecurityRules judge an access to a pod by the risk of that pod's spec.
	// +optional
	PodSecurityRules *PodSecurityRules `json:"podSecurityRules,omitempty"`

	// precedence orders policies: the lower is judged and named first. It never
	// lets one policy's allow win over another's deny.
	// +optional
	// +kubebuilder:default=100
	Precedence *int32 `json:"precedence,omitempty"`

	// enforcementAction is what follows where the policy denies: deny refuses the
	// request, warn lets it in with a warning, and audit lets it in and records what would
	// have been refused. Labels that exempt from the policy, and that somebody sets
	// meanwhile, stay when it changes to deny.
	// +optional
	// +kubebuilder:default=deny
	EnforcementAction EnforcementAction `json:"enforcementAction,omitempty"`
}

// DenyPolicyScope says where a policy applies. A list that is given must hold a
// name, or a pattern with `*` and `?`, that matches; lists that are not given do
// not narrow.
//
// +kubebuilder:validation:MinProperties=1
type DenyPolicyScope struct {
	// clusters are the names that clusters were given by --cluster-name or by
	// their ClusterConfig.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\[\]{}\\ ]+$`
	Clusters []string `json:"clusters,omitempty"`
	// tenants are the tenants that clusters belong to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\[\]{}\\ ]+$`
	Tenants []string `json:"tenants,omitempty"`
	// escalationRefs name the BreakglassEscalations under whose sessions the
	// policy applies.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\[\]{}\\ ]+$`
	EscalationRefs []string `json:"escalationRefs,omitempty"`
	// sessions name the BreakglassSessions under which the policy applies.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\[\]{}\\ ]+$`
	Sessions []string `json:"sessions,omitempty"`
}

// DenyRule denies requests by their attributes: all the lists that are given
// must match. Every list takes `*` and `?`.
type DenyRule struct {
	// verbs: get, list, watch, create, update, patch, delete, deletecollection,
	// or others that RBAC knows; connect stands for every verb of exec, attach,
	// portforward and proxy. What is done by a subresource is not a verb: exec is
	// every verb of the resource pods/exec.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^\S([\s\S]*\S)?$`
	Verbs []string `json:"verbs"`
	// apiGroups of the resource, "" for the core group.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^(\S([\s\S]*\S)?)?$`
	APIGroups []string `json:"apiGroups"`
	// resources in the plural; `pods/exec` names a subresource, `pods/*` every
	// subresource.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\s/]([^/]*[^\s/])?$|^[^\s/][^/]*/[^/]*[^\s/]$`
	Resources []string `json:"resources"`
	// subresources that each of the resources is denied with. Not given, a
	// resource written without a slash stands only for itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^\S([\s\S]*\S)?$`
	Subresources []string `json:"subresources,omitempty"`
	// namespaces of the request: a list of names and patterns with `*` and `?`, or
	// {patterns: [NAME], selectorTerms: [LABELSELECTOR]}, of which one has to match.
	// Not given: every namespace, and cluster-scoped resources.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Namespaces *NamespaceFilter `json:"namespaces,omitempty"`
	// resourceNames of the objects. Not given: every name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^\S([\s\S]*\S)?$`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// PodSecurityRules judge access to a pod. The order is: subresource scope,
// exemptions, block factors, score, thresholds. Source: document
// "Pod Security Risk Classification".
//
// +kubebuilder:validation:XValidation:rule="(has(self.blockFactors) && size(self.blockFactors) > 0) || (has(self.thresholds) && size(self.thresholds) > 0)",message="thresholds or blockFactors is required: rules with neither judge nothing"
// +kubebuilder:validation:XValidation:rule="!has(self.thresholds) || self.thresholds.all(i, t, i == 0 || self.thresholds[i-1].maxScore < t.maxScore)",message="thresholds must ascend: each maxScore must be greater than the one before it"
// +kubebuilder:validation:XValidation:rule="!has(self.thresholds) || self.thresholds.all(i, t, i == 0 || t.action == 'deny' || self.thresholds[i-1].action == t.action || self.thresholds[i-1].action == 'allow' || self.thresholds[i-1].action == 'warn' && t.action == 'requireApproval')",message="actions must not get milder as scores rise: allow, warn, requireApproval, deny"
// +kubebuilder:validation:XValidation:rule="(has(self.riskFactors) && ([has(self.riskFactors.hostNetwork) ? self.riskFactors.hostNetwork : 0, has(self.riskFactors.hostPID) ? self.riskFactors.hostPID : 0, has(self.riskFactors.hostIPC) ? self.riskFactors.hostIPC : 0, has(self.riskFactors.privilegedContainer) ? self.riskFactors.privilegedContainer : 0, has(self.riskFactors.hostPathWritable) ? self.riskFactors.hostPathWritable : 0, has(self.riskFactors.hostPathReadOnly) ? self.riskFactors.hostPathReadOnly : 0, has(self.riskFactors.runAsRoot) ? self.riskFactors.runAsRoot : 0, has(self.riskFactors.hostPort) ? self.riskFactors.hostPort : 0, has(self.riskFactors.allowPrivilegeEscalation) ? self.riskFactors.allowPrivilegeEscalation : 0, has(self.riskFactors.procMountUnmasked) ? self.riskFactors.procMountUnmasked : 0, has(self.riskFactors.seccompUnconfined) ? self.riskFactors.seccompUnconfined : 0, has(self.riskFactors.appArmorUnconfined) ? self.riskFactors.appArmorUnconfined : 0, has(self.riskFactors.unsafeSysctl) ? self.riskFactors.unsafeSysctl : 0, has(self.riskFactors.windowsHostProcess) ? self.riskFactors.windowsHostProcess : 0, has(self.riskFactors.shareProcessNamespace) ? self.riskFactors.shareProcessNamespace : 0, has(self.riskFactors.runtimeSocket) ? self.riskFactors.runtimeSocket : 0, has(self.riskFactors.sensitiveHostPath) ? self.riskFactors.sensitiveHostPath : 0, has(self.riskFactors.serviceAccountToken) ? self.riskFactors.serviceAccountToken : 0, has(self.riskFactors.powerfulServiceAccount) ? self.riskFactors.powerfulServiceAccount : 0].exists(w, w > 0) || has(self.riskFactors.capabilities) && self.riskFactors.capabilities.exists(k, self.riskFactors.capabilities[k] > 0))) ? has(self.thresholds) && size(self.thresholds) > 0 : !has(self.thresholds) || size(self.thresholds) == 0 || size(self.thresholds) == 1 && (self.thresholds[0].action != 'allow' || has(self.blockFactors) && size(self.blockFactors) > 0)",message="weights in riskFactors lead to nothing without thresholds; and where none is above 0, every pod has the score 0, so that only one threshold can be reached, and one that allows needs blockFactors beside it"
type PodSecurityRules struct {
	// appliesTo names the subresources that are judged.
	// +optional
	AppliesTo *PodSecurityScope `json:"appliesTo,omitempty"`

	// scope is what is scored: the whole pod, or the container that is entered
	// with what it shares with its pod. The container is known only at the
	// admission door; at the access door the whole pod is scored.
	// +optional
	// +kubebuilder:validation:Enum=pod;container
	// +kubebuilder:default=pod
	Scope RiskScope `json:"scope,omitempty"`

	// riskFactors are the weights of dangerous settings.
	// +optional
	RiskFactors RiskFactors `json:"riskFactors,omitempty"`

	// thresholds say what a score leads to, the lowest maxScore first, and no
	// action milder than the one before it. A score above the last is denied.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Thresholds []RiskThreshold `json:"thresholds,omitempty"`

	// blockFactors deny whatever the score is: a name out of riskFactors, or
	// `capability:NAME`.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^(hostNetwork|hostPID|hostIPC|privilegedContainer|hostPathWritable|hostPathReadOnly|runAsRoot|capabilities|hostPort|allowPrivilegeEscalation|procMountUnmasked|seccompUnconfined|appArmorUnconfined|unsafeSysctl|windowsHostProcess|shareProcessNamespace|runtimeSocket|sensitiveHostPath|serviceAccountToken|powerfulServiceAccount|capability:.+)$`
	BlockFactors []string `json:"blockFactors,omitempty"`

	// exemptions are pods that are not judged.
	// +optional
	Exemptions *PodSecurityExemptions `json:"exemptions,omitempty"`

	// failMode says what happens when the pod cannot be read: closed denies,
	// open allows.
	// +optional
	// +kubebuilder:validation:Enum=open;closed
	// +kubebuilder:default=closed
	FailMode FailMode `json:"failMode,omitempty"`
}

// PodSecurityScope names subresources.
type PodSecurityScope struct {
	// subresources of pods: exec, attach, portforward, ephemeralcontainers,
	// proxy, log; and nodes/proxy. Not given: exec, attach, portforward.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Enum=exec;attach;portforward;ephemeralcontainers;proxy;log;nodes/proxy
	// +kubebuilder:validation:MinItems=1
	Subresources []string `json:"subresources,omitempty"`
}

// RiskScope is what of a pod is scored.
type RiskScope string

// What of a pod is scored.
const (
	ScopePod       RiskScope = "pod"
	ScopeContainer RiskScope = "container"
)

// FailMode is what happens to a request that cannot be judged.
type FailMode string

// What happens to a request that cannot be judged.
const (
	FailOpen   FailMode = "open"
	FailClosed FailMode = "closed"
)

// RiskThreshold is what a score up to maxScore leads to.
type RiskThreshold struct {
	// maxScore is the highest score that the threshold holds for, itself
	// included.
	// +kubebuilder:validation:Minimum=0
	MaxScore *int32 `json:"maxScore"`
	// action: allow; warn (allowed, with a warning); deny; or requireApproval
	// (denied until an approved breakglass session covers this user and pod).
	// +kubebuilder:validation:Enum=allow;warn;deny;requireApproval
	Action RiskAction `json:"action"`
	// reason is what the user reads. A text/template with {{.score}},
	// {{.factors}}, {{.pod}}, {{.namespace}}, {{.container}}, {{.user}},
	// {{.subresource}} and {{.cluster}}.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RiskAction is what a threshold leads to.
type RiskAction string

// What a threshold leads to.
const (
	ActionAllow           RiskAction = "allow"
	ActionWarn            RiskAction = "warn"
	ActionDeny            RiskAction = "deny"
	ActionRequireApproval RiskAction = "requireApproval"
)

// PodSecurityExemptions are pods that are not judged: those of the namespaces,
// and those that carry all of the labels.
//
// +kubebuilder:validation:MinProperties=1
type PodSecurityExemptions struct {
	// namespaces whose pods are exempt: a list of names and patterns with `*` and `?`, or
	// {patterns: [NAME], selectorTerms: [LABELSELECTOR]}, of which one has to match.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Namespaces *NamespaceFilter `json:"namespaces,omitempty"`
	// podLabels exempt a pod that carries all of them.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	PodLabels map[string]string `json:"podLabels,omitempty"`
}

// PolicyStatus says whether a policy is enforced.
type PolicyStatus struct {
	// observedGeneration is the generation that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is True when the policy is loaded and enforced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
