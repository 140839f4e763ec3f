package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BreakglassEscalation says who may ask for more than he has, who approves it, for
// how long it is given and what it excuses. Source: document "Pod Security Risk
// Classification".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bge,categories=sallyport
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.escalatedGroup`
// +kubebuilder:printcolumn:name="For",type=string,JSONPath=`.spec.maxValidFor`
// +kubebuilder:printcolumn:name="Approvals",type=integer,JSONPath=`.spec.requiredApprovals`
// +kubebuilder:printcolumn:name="Overrides",type=boolean,JSONPath=`.spec.podSecurityOverrides.enabled`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BreakglassEscalation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BreakglassEscalationSpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// BreakglassEscalationList is a list of BreakglassEscalation.
//
// +kubebuilder:object:root=true
type BreakglassEscalationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BreakglassEscalation `json:"items"`
}

// BreakglassEscalationSpec is an escalation.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requiredApprovals) || has(self.approvers.groups) && size(self.approvers.groups) > 0 || has(self.approvers.users) && size(self.approvers.users) >= self.requiredApprovals",message="requiredApprovals can never be met: fewer approvers are named",fieldPath=".requiredApprovals"
type BreakglassEscalationSpec struct {
	// allowed says who may ask.
	Allowed EscalationAllowed `json:"allowed"`

	// approvers may approve, deny and revoke.
	Approvers EscalationApprovers `json:"approvers"`

	// escalatedGroup is the group whose rights a session gives at the access door.
	// Not given: a session gives none, and only excuses by podSecurityOverrides.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'system:masters'",message="system:masters is given to nobody"
	EscalatedGroup string `json:"escalatedGroup,omitempty"`

	// maxValidFor is the longest time that a session is valid, such as 1h. Not
	// given: 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	MaxValidFor string `json:"maxValidFor,omitempty"`
	// idleTimeout ends a session that was not used for that time. Not given: never.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	IdleTimeout string `json:"idleTimeout,omitempty"`
	// idle says what counts as use for idleTimeout. Not given: what the front door let
	// in, so that sessions that only read are idle from when they begin.
	// +optional
	// +kubebuilder:default=frontDoor
	Idle IdleBasis `json:"idle,omitempty"`
	// approvalTimeout ends a request that nobody answered in that time. Not given: 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	ApprovalTimeout string `json:"approvalTimeout,omitempty"`
	// retainFor is how long sessions that are over are kept for the record. Not
	// given: 30d.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	RetainFor string `json:"retainFor,omitempty"`

	// requestReason and approvalReason say whether a reason has to be given.
	// +optional
	RequestReason *ReasonRule `json:"requestReason,omitempty"`
	// +optional
	ApprovalReason *ReasonRule `json:"approvalReason,omitempty"`

	// requiredApprovals is how many people have to approve.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	RequiredApprovals *int32 `json:"requiredApprovals,omitempty"`

	// allowSelfApproval lets whoever asks approve it himself, if he is an approver.
	// +optional
	AllowSelfApproval bool `json:"allowSelfApproval,omitempty"`

	// allowImpersonation lets whoever may impersonate the user of an active session do so,
	// and with that use the session. Not given: it is refused at the side door while the
	// session is active.
	// +optional
	AllowImpersonation bool `json:"allowImpersonation,omitempty"`

	// denyPolicyRefs name DenyPolicies that hold for whoever has an active session,
	// beside those whose appliesTo covers it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern=`^[^*?]+$`
	DenyPolicyRefs []string `json:"denyPolicyRefs,omitempty"`

	// podSecurityOverrides says what of the risk of pods a session excuses.
	// +optional
	PodSecurityOverrides *PodSecurityOverrides `json:"podSecurityOverrides,omitempty"`

	// afterUse says what happens to the pods that were entered once the session is
	// over.
	// +optional
	AfterUse *AfterUse `json:"afterUse,omitempty"`
}

// IdleBasis is what counts as use of a session for its idleTimeout.
//
// +kubebuilder:validation:Enum=frontDoor;authorizer
type IdleBasis string

// What counts as use.
const (
	// IdleFrontDoor: what the front door let in under the session.
	IdleFrontDoor IdleBasis = "frontDoor"
	// IdleAuthorizer: that, and whatever the side door is asked about. A question there
	// looks like a request, so that whoever may ask keeps a session from being idle.
	IdleAuthorizer IdleBasis = "authorizer"
)

// EscalationAllowed says who may ask, and for which clusters. It is asked again at each
// use of a session, with the groups of that request.
type EscalationAllowed struct {
	// clusters are names, or patterns with `*` and `?`.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^\s\[\]{}\\]([^\[\]{}\\]*[^\s\[\]{}\\])?$`
	Clusters []string `json:"clusters"`
	// groups, one of which whoever asks has to be in: names, or patterns with `*`
	// and `?`.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^\s\[\]{}\\]([^\[\]{}\\]*[^\s\[\]{}\\])?$`
	Groups []string `json:"groups"`
}

// EscalationApprovers are people by name or group, without patterns.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.users) && size(self.users) > 0 || has(self.groups) && size(self.groups) > 0",message="names nobody, so nothing could be approved; give users or groups"
type EscalationApprovers struct {
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:Pattern=`^[^\s*?\[\]{}\\]([^*?\[\]{}\\]*[^\s*?\[\]{}\\])?$`
	Users []string `json:"users,omitempty"`
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:Pattern=`^[^\s*?\[\]{}\\]([^*?\[\]{}\\]*[^\s*?\[\]{}\\])?$`
	Groups []string `json:"groups,omitempty"`
}

// ReasonRule says whether a reason has to be given.
type ReasonRule struct {
	// +optional
	Mandatory bool `json:"mandatory,omitempty"`
	// description tells people what is expected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
}

// PodSecurityOverrides excuse what podSecurityRules would deny.
//
// +kubebuilder:validation:XValidation:rule="!has(self.approvers) || has(self.requireApproval) && self.requireApproval",message="approvers count only with requireApproval: true; set it, or leave the approvers out",fieldPath=".approvers"
type PodSecurityOverrides struct {
	// enabled has to be set for anything to be excused.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// maxAllowedScore is the highest score that is let in, whatever the thresholds
	// say. Not given: scores are not excused, except for requireApproval.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxAllowedScore *int32 `json:"maxAllowedScore,omitempty"`
	// exemptFactors count neither for the block list nor for the score: a name out
	// of riskFactors, or `capability:NAME`.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:Pattern=`^(hostNetwork|hostPID|hostIPC|privilegedContainer|hostPathWritable|hostPathReadOnly|runAsRoot|capabilities|hostPort|allowPrivilegeEscalation|procMountUnmasked|seccompUnconfined|appArmorUnconfined|unsafeSysctl|windowsHostProcess|shareProcessNamespace|runtimeSocket|sensitiveHostPath|serviceAccountToken|powerfulServiceAccount|capability:.+)$`
	ExemptFactors []string `json:"exemptFactors,omitempty"`
	// namespaceScope narrows what is excused to pods in these namespaces: a list of names and patterns with `*` and `?`, or
	// {patterns: [NAME], selectorTerms: [LABELSELECTOR]}, of which one has to match.
	// Not given: all.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	NamespaceScope *NamespaceFilter `json:"namespaceScope,omitempty"`
	// requireApproval: one of approvers below has to be among those who approved the
	// session.
	// +optional
	RequireApproval bool `json:"requireApproval,omitempty"`
	// approvers of the overrides. Not given: those of the escalation.
	// +optional
	Approvers *EscalationApprovers `json:"approvers,omitempty"`
}

// AfterUseAction is what happens to a pod that was entered.
type AfterUseAction string

// The actions.
const (
	// AfterUseEvict evicts the pod, as PodDisruptionBudgets allow.
	AfterUseEvict AfterUseAction = "evict"
	// AfterUseMark labels the pod, and says in annotations who entered it and when.
	AfterUseMark AfterUseAction = "mark"
)

// AfterUse says what happens to the pods that were entered.
type AfterUse struct {
	// +kubebuilder:validation:Enum=evict;mark
	Action AfterUseAction `json:"action"`
	// grace is how long after the session that happens, such as 5m. Not given: at
	// once.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	Grace string `json:"grace,omitempty"`
}
