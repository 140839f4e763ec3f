package v1alpha1

// EnforcementAction is what follows where a DenyPolicy would refuse a request.
//
// +kubebuilder:validation:Enum=deny;warn;audit
type EnforcementAction string

// What follows: the request is refused, let in with a warning, or let in and recorded.
const (
	EnforceDeny  EnforcementAction = "deny"
	EnforceWarn  EnforcementAction = "warn"
	EnforceAudit EnforcementAction = "audit"
)

// EnforcementActions are all of them, the strictest first.
var EnforcementActions = []EnforcementAction{EnforceDeny, EnforceWarn, EnforceAudit}
