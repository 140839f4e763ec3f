package stored

import "github.com/sallyport-io/sallyport/internal/calls/contextgate"

// RuleWorks is the rule name in the results about Sallyport's own objects.
const RuleWorks = "policy-works"

// KindDenyPolicy is the kind in the results of deny policies, and
// RulePodSecurity the rule name of their podSecurityRules.
const (
	KindDenyPolicy  = "DenyPolicy"
	RulePodSecurity = "podSecurityRules"
)

// RuleExemptLabels is the rule name in the results about labels that exempt.
const RuleExemptLabels = "podSecurityRules.exemptions.podLabels"

// The kinds of policies that are modules.
const (
	KindClusterAdmissionPolicy = contextgate.ClusterAdmissionPolicy
	KindAdmissionPolicy        = "AdmissionPolicy"
)

// RuleModule is what the one rule of a policy that is a module is called, in
// results and in exceptions.
const RuleModule = "validate"

// RuleNamespaceLabels is the rule name in the results about labels of namespaces by
// which a policy does less.
const RuleNamespaceLabels = "namespace-labels"

// KindPodKind is the kind that registers kinds which make pods.
const KindPodKind = "PodKind"

// KindPolicyServer is the kind of servers that run policies of their own.
const KindPolicyServer = "PolicyServer"

// Kinds in the results of rules.
const (
	KindClusterPolicy = "ClusterPolicy"
	KindPolicy        = "Policy"
)
