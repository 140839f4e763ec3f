// Package v1alpha1 holds the kinds of the API group sallyport.io.
//
// +kubebuilder:object:generate=true
// +groupName=sallyport.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion names the API group and its version.
var GroupVersion = schema.GroupVersion{Group: "sallyport.io", Version: "v1alpha1"}

// AddToScheme registers every kind of the group.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&DenyPolicy{}, &DenyPolicyList{},
		&ClusterPolicy{}, &ClusterPolicyList{},
		&Policy{}, &PolicyList{},
		&PolicyException{}, &PolicyExceptionList{},
		&ClusterPolicyException{}, &ClusterPolicyExceptionList{},
		&PolicyExceptionRequest{}, &PolicyExceptionRequestList{},
		&PolicyExceptionResponse{}, &PolicyExceptionResponseList{},
		&ExceptionPolicy{}, &ExceptionPolicyList{},
		&IdentitySource{}, &IdentitySourceList{},
		&ClusterAdmissionPolicy{}, &ClusterAdmissionPolicyList{},
		&AdmissionPolicy{}, &AdmissionPolicyList{},
		&PolicyServer{}, &PolicyServerList{},
		&BreakglassEscalation{}, &BreakglassEscalationList{},
		&BreakglassSession{}, &BreakglassSessionList{},
		&ClusterConfig{}, &ClusterConfigList{},
		&PodKind{}, &PodKindList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// ConditionReady is the condition that says whether a policy is loaded and
// enforced. Its reason and message name what is wrong when it is False.
const ConditionReady = "Ready"

// AnnotationCreatedBy names the user who wrote an exception. It is filled in from
// the authenticated request; what a user writes there is replaced.
const AnnotationCreatedBy = "sallyport.io/created-by"

// AnnotationApproval is the record, in JSON, of who wrote an exception and so
// approved it, when, for which kinds of policies, and what it said then. It is
// filled in from the authenticated request; what a user writes there is replaced.
const AnnotationApproval = "sallyport.io/approval"

// ConditionApproved is the condition of an exception that says whether somebody
// approved it who may, or the right to write it was enough.
const ConditionApproved = "Approved"

// AnnotationTemplateJudged marks an object that makes pods: whoever wrote its
// template was found to hold every identity that it carries. Sallyport writes it;
// the value depends on the namespace and the identities, and any other is refused.
const AnnotationTemplateJudged = "sallyport.io/template-judged"

// AcknowledgeTemplate is what somebody writes into that annotation who vouches
// for a template that was there before it could be judged. Sallyport puts the
// mark in its place.
const AcknowledgeTemplate = "acknowledge"

// AnnotationValidatedAnnotations carries, as JSON, what document "Validated Pod
// Annotations" writes into the field spec.validatedAnnotations of a pod, which no
// API server keeps. On a pod or a template it is read as that field is.
const AnnotationValidatedAnnotations = "sallyport.io/validated-annotations"

// The conditions of policies that may read the cluster while they judge.
const (
	// ConditionContextDenied is true once the policy asked for something that was
	// not granted to it, and was refused.
	ConditionContextDenied = "ContextDenied"
	// ConditionContextReady says whether what was granted can be read.
	ConditionContextReady = "ContextReady"
	// ConditionContextGranted says whether the module was granted all that its
	// metadata asks for.
	ConditionContextGranted = "ContextGranted"
	// ConditionModuleReady says whether the pods of a PolicyServer could load the
	// module of a policy. They write it; Ready takes it in.
	ConditionModuleReady = "ModuleReady"
	// ConditionGaps is True where a policy that works leaves something open next to
	// what it guards, or needs a door that is not always there; the message says
	// what to write. It is not there where nothing is to be said.
	ConditionGaps = "Gaps"
	// ConditionEnforced says whether the API server asks about all that a policy is
	// about and gets an answer, and whether every replica that answers has the policy or
	// exception in force, so that it is held to. Ready says only that it can work.
	ConditionEnforced = "Enforced"
)
