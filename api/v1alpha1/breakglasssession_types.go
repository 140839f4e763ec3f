package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BreakglassSession is what one person asks for, and what came of it: access by an
// escalation, in one cluster, for a while. Its spec is not changed any more; what is
// approved is what was asked for. Source: document "Pod Security Risk
// Classification".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bgs,categories=sallyport
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Escalation",type=string,JSONPath=`.spec.escalationRef`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="By UID",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="BoundToUID")].status`
// +kubebuilder:printcolumn:name="Entries Known",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="EntriesKnown")].status`
// +kubebuilder:printcolumn:name="Not Impersonated",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ImpersonationRefused")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BreakglassSession struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a session is not changed once it is asked for; withdraw it and ask again"
	Spec BreakglassSessionSpec `json:"spec"`
	// +optional
	Status BreakglassSessionStatus `json:"status,omitempty"`
}

// BreakglassSessionList is a list of BreakglassSession.
//
// +kubebuilder:object:root=true
type BreakglassSessionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BreakglassSession `json:"items"`
}

// BreakglassSessionSpec is what is asked for.
type BreakglassSessionSpec struct {
	// cluster is the one that access is asked for.
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster"`
	// user is who asks, and who gets it: the name by which the API server knows him.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user"`
	// userUID is the uid by which the API server knows who asks, where it gives one. A
	// session with one is used with it only. Without one the name counts.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserUID string `json:"userUID,omitempty"`
	// escalationRef names the BreakglassEscalation.
	// +kubebuilder:validation:MinLength=1
	EscalationRef string `json:"escalationRef"`
	// grantedGroup is the group whose rights are asked for. Not given: the
	// escalation's. Any other is refused.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self != 'system:masters'",message="system:masters is given to nobody"
	GrantedGroup string `json:"grantedGroup,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	RequestReason string `json:"requestReason,omitempty"`
	// scheduledStartTime is when access begins. Not given: when it is approved.
	// +optional
	ScheduledStartTime *metav1.Time `json:"scheduledStartTime,omitempty"`
	// maxValidFor, idleTimeout and retainFor are no longer than the escalation's.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	MaxValidFor string `json:"maxValidFor,omitempty"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	IdleTimeout string `json:"idleTimeout,omitempty"`
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	RetainFor string `json:"retainFor,omitempty"`
}

// SessionState is where a session stands.
//
// +kubebuilder:validation:Enum=Pending;Approved;WaitingForScheduledTime;Rejected;Withdrawn;Revoked;ApprovalTimeout;Expired;IdleExpired
type SessionState string

// The states. All but the first three are final.
const (
	SessionPending   SessionState = "Pending"
	SessionApproved  SessionState = "Approved"
	SessionWaiting   SessionState = "WaitingForScheduledTime"
	SessionRejected  SessionState = "Rejected"
	SessionWithdrawn SessionState = "Withdrawn"
	// SessionRevoked: an approver ended it.
	SessionRevoked         SessionState = "Revoked"
	SessionApprovalTimeout SessionState = "ApprovalTimeout"
	SessionExpired         SessionState = "Expired"
	SessionIdleExpired     SessionState = "IdleExpired"
)

// BreakglassSessionStatus is what came of a session. Whoever writes it, a session
// that has ended stays so, and no window that was approved gets longer.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.endedAt) || (has(self.endedAt) && self.endedAt == oldSelf.endedAt && has(self.state) && self.state == oldSelf.state)",message="a session that has ended stays as it ended"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.expiresAt) || (has(self.expiresAt) && self.expiresAt <= oldSelf.expiresAt)",message="expiresAt can only be brought forward"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.requestedBy) || (has(self.requestedBy) && self.requestedBy == oldSelf.requestedBy)",message="requestedBy cannot be changed"
type BreakglassSessionStatus struct {
	// +optional
	State SessionState `json:"state,omitempty"`
	// requestedBy is who asked, as the API server authenticated him.
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// +optional
	// +listType=atomic
	Approvals []SessionApproval `json:"approvals,omitempty"`
	// +optional
	ApprovedAt *metav1.Time `json:"approvedAt,omitempty"`
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// lastUsedAt is when something was let in under the session last, as far as it is
	// known: by the front door; and, where the escalation has idle: authorizer, by the
	// side door, which cannot tell a question from a request.
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
	// endedAt is when the session came into a final state.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	// +optional
	RetainedUntil *metav1.Time `json:"retainedUntil,omitempty"`
	// history are the states, the first one first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	History []SessionTransition `json:"history,omitempty"`
	// terms are what the escalation gave when the session was approved. A session
	// never gives more.
	// +optional
	Terms *SessionTerms `json:"terms,omitempty"`
	// entered are the pods that the front door let somebody into under the session: by a
	// CONNECT, or by adding ephemeral containers. That it let him in does not say that
	// something started. Where the cluster has no front door of ours they are not known,
	// as the condition EntriesKnown says.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Entered []EnteredPod `json:"entered,omitempty"`
	// notified are the events that others were told of.
	// +optional
	// +listType=atomic
	Notified []string `json:"notified,omitempty"`
	// conditions say what holds for the session: BoundToUID, that it is of an account
	// and not only of a name; EntriesKnown, that the front door sees who enters;
	// ImpersonationRefused, that no one uses it as its user.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SessionApproval is one person's approval.
type SessionApproval struct {
	By string      `json:"by"`
	At metav1.Time `json:"at"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// overrides is set where the person may approve podSecurityOverrides.
	// +optional
	Overrides bool `json:"overrides,omitempty"`
	// escalationVersion is that of the escalation as it was approved: its UID and
	// generation. An approval of an earlier one does not count any more.
	// +optional
	EscalationVersion string `json:"escalationVersion,omitempty"`
}

// SessionTransition is one step of a session.
type SessionTransition struct {
	State SessionState `json:"state"`
	At    metav1.Time  `json:"at"`
	// by is who caused it; empty where time did.
	// +optional
	By string `json:"by,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SessionTerms are the terms of an escalation as a session was approved under them.
type SessionTerms struct {
	// +optional
	EscalationUID string `json:"escalationUID,omitempty"`
	// +optional
	EscalatedGroup string `json:"escalatedGroup,omitempty"`
	// +optional
	Clusters []string `json:"clusters,omitempty"`
	// +optional
	IdleTimeout string `json:"idleTimeout,omitempty"`
	// +optional
	Idle IdleBasis `json:"idle,omitempty"`
	// +optional
	AllowImpersonation bool `json:"allowImpersonation,omitempty"`
	// +optional
	DenyPolicyRefs []string `json:"denyPolicyRefs,omitempty"`
	// +optional
	PodSecurityOverrides *PodSecurityOverrides `json:"podSecurityOverrides,omitempty"`
	// +optional
	AfterUse *AfterUse `json:"afterUse,omitempty"`
}

// EnteredPod is a pod that was entered.
type EnteredPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// +optional
	UID string `json:"uid,omitempty"`
	// first and last are when it was entered.
	First metav1.Time `json:"first"`
	Last  metav1.Time `json:"last"`
	// afterUse is what was done to it, and when, once the session was over.
	// +optional
	AfterUse string `json:"afterUse,omitempty"`
	// +optional
	AfterUseAt *metav1.Time `json:"afterUseAt,omitempty"`
}
