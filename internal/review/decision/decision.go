// Package decision holds what judging a request comes to: one result for each
// rule that applied, and the verdict that follows from them. Its JSON form is
// what `sallyport check -o json` prints and is stable.
package decision

// Status is what one rule says of one resource.
type Status string

// What a rule can say. Skip: failed and excused. Error: could not be judged.
const (
	Pass  Status = "pass"
	Fail  Status = "fail"
	Warn  Status = "warn"
	Skip  Status = "skip"
	Error Status = "error"
)

// Action is what a policy does about a rule that fails or errors.
type Action string

// What a policy does about a failure.
const (
	Enforce     Action = "enforce"
	ActionAudit Action = "audit"
	ActionWarn  Action = "warn"
)

// Verdict is the answer to a whole request.
type Verdict string

// The verdicts. VerdictError: something could not be judged, and the request is
// refused for that.
const (
	Allow        Verdict = "allow"
	AllowWarning Verdict = "warn"
	Deny         Verdict = "deny"
	VerdictError Verdict = "error"
)

// Resource names an object. For an access request it is the pod or node that is
// entered.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Finding is one field that speaks against the resource.
type Finding struct {
	// Path of the field from the root of the object, such as
	// spec.template.spec.containers[1].securityContext.privileged. Empty where
	// no field is at fault.
	Path string `json:"path"`
	// Value found there, in its JSON form; strings stand without quotes. Empty
	// for a field that is missing.
	Value string `json:"value,omitempty"`
	// Detail says in words what is wrong with it.
	Detail string `json:"detail,omitempty"`
	// Control of the Pod Security Standards that the field breaks, by the name
	// that exceptions call it.
	Control string `json:"control,omitempty"`
}

// String is the finding in words: the path, the value and the detail.
func (f *Finding) String() string {
	text := f.Path
	if f.Value != "" {
		text += " = " + f.Value
	}
	if f.Detail != "" {
		if text != "" {
			text += ": "
		}
		text += f.Detail
	}
	return text
}

// Exception is a pass that was shown for a rule.
type Exception struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason,omitempty"`
	Requester string `json:"requester,omitempty"`
	Approver  string `json:"approver,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
}

// Called is the kind and the name of the exception, as messages have it.
func (e *Exception) Called() string { return e.Kind + " " + qualified(e.Namespace, e.Name) }

// String is the exception in words: what it is called, why, who asked for it and
// who approved it, and until when it holds.
func (e *Exception) String() string {
	text := e.Called()
	for _, part := range [...]struct{ name, value string }{
		{"reason", e.Reason}, {"requested by", e.Requester}, {"approved by", e.Approver}, {"until", e.ExpiresAt},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	return text
}

// Result is what one rule says of one resource.
type Result struct {
	Policy          string      `json:"policy"`
	PolicyNamespace string      `json:"policyNamespace,omitempty"`
	Rule            string      `json:"rule"`
	Kind            string      `json:"kind"`
	Resource        Resource    `json:"resource"`
	Status          Status      `json:"status"`
	Action          Action      `json:"action"`
	Message         string      `json:"message"`
	Findings        []Finding   `json:"findings,omitempty"`
	Exceptions      []Exception `json:"exceptions,omitempty"`
	// SuggestedException is the PolicyExceptionRequest, as YAML, that would ask
	// for an exception; where that was asked for.
	SuggestedException string `json:"suggestedException,omitempty"`
	// Score and Factors stand only for risk rules; Score is nil where nothing
	// was scored.
	Score   *int     `json:"score,omitempty"`
	Factors []string `json:"factors,omitempty"`
	// Exempt says why a risk rule did not judge ("namespace kube-system is
	// exempt"); Status is then Pass.
	Exempt string `json:"exempt,omitempty"`
	// Warnings are what a module has to say to whoever asked, and Annotations what
	// it has to say to the audit log.
	Warnings    []string          `json:"warnings,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Code is the HTTP status that a module refuses with; zero for none.
	Code int `json:"code,omitempty"`
	// Context says what the rule read beside the request, and what it may not; nil
	// where it asked for nothing.
	Context *Context `json:"context,omitempty"`
	// Session is the breakglass session that excuses the failure of a risk rule.
	Session *Session `json:"session,omitempty"`
	// Source is the file and document that the resource was read from.
	Source string `json:"source,omitempty"`
	// FailClosed is set for an error that the policy's own fail mode answers
	// with a denial.
	FailClosed bool `json:"failClosed,omitempty"`
	// WouldDeny is set where the result would refuse the request if its policy, or the
	// installation, did more than observe.
	WouldDeny bool `json:"-"`
	// Marked is set where the object says by a mark that this was judged: what is let in
	// with it counts as judged later.
	Marked bool `json:"-"`
	// Remedy is what somebody can do about a failure.
	Remedy Remedy `json:"-"`
}

// Remedy is what somebody whose request was refused can do about it. It says
// nothing that is not available: not every policy has exemptions.
type Remedy uint8

// The remedies. RemedyPolicy, for what has no other: another object, or another
// policy.
const (
	RemedyPolicy Remedy = iota
	// RemedyExemption: another pod, or an exemption that the policy can have.
	RemedyExemption
	// RemedyCorrect: the object is a policy itself, and wrong.
	RemedyCorrect
	// RemedyRight: other labels, or the right to set these.
	RemedyRight
	// RemedyGrant: a permission, which the message writes down.
	RemedyGrant
	// RemedyAnnotation: without the annotation, which nobody but Sallyport writes.
	RemedyAnnotation
	// RemedyMend: the policy cannot work, and somebody has to correct or delete it.
	RemedyMend
	// RemedyOperator: a right that those who run Sallyport have.
	RemedyOperator
)

// PolicyName is the name of the policy; NAMESPACE/NAME of one that has a namespace.
func (r *Result) PolicyName() string {
	if r.PolicyNamespace == "" {
		return r.Policy
	}
	return r.PolicyNamespace + "/" + r.Policy
}

// Blocks reports whether the result by itself refuses the request: an enforced
// failure or an enforced error.
func (r *Result) Blocks() bool {
	return r.Action == Enforce && (r.Status == Fail || r.Status == Error)
}

// Warns reports whether the result lets the request in with a warning.
func (r *Result) Warns() bool {
	return r.Status == Warn || r.Action == ActionWarn && (r.Status == Fail || r.Status == Error)
}

// Summary counts results by status.
type Summary struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Warn  int `json:"warn"`
	Skip  int `json:"skip"`
	Error int `json:"error"`
}

// Decision is the answer to one request, or to several taken together.
type Decision struct {
	Verdict Verdict  `json:"decision"`
	Summary Summary  `json:"summary"`
	Results []Result `json:"results"`
	// Granted is the breakglass session that lets the request in at the access door,
	// where the user's own rights may not; nil for none.
	Granted *Session `json:"granted,omitempty"`
	// NotGranted says why a session that is active, and of the user's name, does not
	// count for him at the access door; empty where there is none.
	NotGranted string `json:"-"`
}

// Of makes the decision that follows from results: deny if one blocks by
// failing or by a fail mode that denies, else error if one blocks by not being
// judged, else warn, else allow.
// The order of results is kept.
func Of(results []Result) Decision {
	if results == nil {
		results = []Result{}
	}
	d := Decision{Verdict: Allow, Results: results}
	for i := range results {
		r := &results[i]
		switch r.Status {
		case Pass:
			d.Summary.Pass++
		case Fail:
			d.Summary.Fail++
		case Warn:
			d.Summary.Warn++
		case Skip:
			d.Summary.Skip++
		case Error:
			d.Summary.Error++
		}
		switch {
		case r.Blocks() && (r.Status == Fail || r.FailClosed):
			d.Verdict = Deny
		case r.Blocks() && d.Verdict != Deny:
			d.Verdict = VerdictError
		case r.Warns() && d.Verdict == Allow:
			d.Verdict = AllowWarning
		}
	}
	return d
}

// Refuses reports whether the request is refused.
func (d *Decision) Refuses() bool { return d.Verdict == Deny || d.Verdict == VerdictError }
