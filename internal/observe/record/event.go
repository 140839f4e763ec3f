package record

import (
	"maps"
	"slices"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// maxFindings is how many findings of one result an event holds.
const maxFindings = 64

// Event is one line of the audit log: a decision that was not a plain allow. It
// holds no command of an exec, no object, and of the user's extra values only
// the keys, since tokens have been seen in the values.
type Event struct {
	Time     time.Time `json:"time"`
	Type     string    `json:"type"`
	Severity string    `json:"severity"`
	// Unauthenticated is set where the caller showed no credentials, so that anybody who
	// reaches the port can have brought the event about.
	Unauthenticated bool      `json:"unauthenticated,omitempty"`
	Door            string    `json:"door,omitempty"`
	Cluster         string    `json:"cluster,omitempty"`
	User            EventUser `json:"user"`
	Operation       string    `json:"operation,omitempty"`
	Verb            string    `json:"verb,omitempty"`
	Group           string    `json:"group,omitempty"`
	Resource        string    `json:"resource,omitempty"`
	Subresource     string    `json:"subresource,omitempty"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name,omitempty"`
	Path            string    `json:"path,omitempty"`
	Container       string    `json:"container,omitempty"`
	// UID is that of the AdmissionReview, which the API server's audit log does
	// not hold, but a webhook's trace does.
	UID     string           `json:"uid,omitempty"`
	DryRun  bool             `json:"dryRun,omitempty"`
	Verdict decision.Verdict `json:"decision,omitempty"`
	Attempt string           `json:"attempt,omitempty"`
	// Granted is the breakglass session whose rights let the request in.
	Granted *decision.Session `json:"granted,omitempty"`
	// Session is what happened to a breakglass session, in events about these.
	Session *EventSession `json:"session,omitempty"`
	Results []EventResult `json:"results"`
}

// EventUser is who asked.
type EventUser struct {
	Name      string   `json:"name"`
	UID       string   `json:"uid,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	ExtraKeys []string `json:"extraKeys,omitempty"`
}

// EventResult is what one rule said.
type EventResult struct {
	Kind            string          `json:"kind"`
	PolicyNamespace string          `json:"policyNamespace,omitempty"`
	Policy          string          `json:"policy"`
	Rule            string          `json:"rule"`
	Status          decision.Status `json:"status"`
	Action          decision.Action `json:"action"`
	// WouldDeny is set where the result would refuse the request if its policy, or the
	// installation, did more than observe.
	WouldDeny    bool                 `json:"wouldDeny,omitempty"`
	Message      string               `json:"message,omitempty"`
	Score        *int                 `json:"score,omitempty"`
	Factors      []string             `json:"factors,omitempty"`
	Exempt       string               `json:"exempt,omitempty"`
	Findings     []decision.Finding   `json:"findings,omitempty"`
	MoreFindings int                  `json:"moreFindings,omitempty"`
	Exceptions   []decision.Exception `json:"exceptions,omitempty"`
	// Session is the breakglass session that excused the result.
	Session *decision.Session `json:"session,omitempty"`
	// Context is what the rule read beside the request, and what was refused to it.
	Context *decision.Context `json:"context,omitempty"`
}

// The severities.
const (
	severityInfo     = "info"
	severityWarning  = "warning"
	severityCritical = "critical"
)

// newEvent makes the event of a decision; nil for a plain allow, where no rule
// had anything to say.
func newEvent(req *request.Request, d *decision.Decision, attempt string, now time.Time) *Event {
	outcome, severity := outcomeOf(d)
	if outcome == "" {
		return nil
	}
	kind := familyOf(req) + outcome
	if !d.Refuses() && d.Verdict != decision.WouldDeny && slices.ContainsFunc(d.Results, func(r decision.Result) bool { return r.Session != nil }) {
		kind, severity = typeOverride, severityWarning
	}
	e := &Event{
		Time: now.UTC(), Type: kind, Severity: severity, Granted: d.Granted,
		Door: string(req.Door), Cluster: req.ClusterName,
		User: EventUser{
			Name: req.User.Name, UID: req.User.UID, Groups: req.User.Groups,
			ExtraKeys: slices.Sorted(maps.Keys(req.User.Extra)),
		},
		Operation: string(req.Operation), Verb: req.Verb,
		Group: req.Resource.Group, Resource: req.Resource.Resource, Subresource: req.Subresource,
		Namespace: req.Namespace, Name: req.Name, Path: req.NonResourcePath,
		UID: string(req.UID), DryRun: req.DryRun, Verdict: d.Verdict, Attempt: attempt,
		Results: []EventResult{},
	}
	if req.Options != nil {
		e.Container = req.Options.Container
	}
	for i := range d.Results {
		if r := &d.Results[i]; speaks(r) {
			e.Results = append(e.Results, resultOf(r))
		}
	}
	return e
}

func resultOf(r *decision.Result) EventResult {
	findings := r.Findings[:min(len(r.Findings), maxFindings)]
	return EventResult{
		Kind: r.Kind, PolicyNamespace: r.PolicyNamespace, Policy: r.Policy, Rule: r.Rule,
		Status: r.Status, Action: r.Action, WouldDeny: r.WouldDeny, Message: r.Message, Score: r.Score, Factors: r.Factors, Exempt: r.Exempt,
		Findings: findings, MoreFindings: len(r.Findings) - len(findings), Exceptions: r.Exceptions, Session: r.Session, Context: r.Context,
	}
}

// speaks reports whether a result says more than that all is well.
func speaks(r *decision.Result) bool {
	return r.Status != decision.Pass || r.Exempt != "" || r.Session != nil || len(r.Exceptions) > 0 || r.Refused() || r.Score != nil && *r.Score > 0 || len(r.Factors) > 0
}

// typeOverride is the type of an event about a session that let somebody in where
// the risk of the pod would have kept him out.
const typeOverride = "PodSecurityOverride"

// outcomeOf is the second half of an event's type, and its severity. Evaluated:
// a rule failed or could not be judged, and its policy lets the request in all
// the same. Allowed: let in with a risk that was found, an exemption or an
// exception. Granted: let in by the rights of a breakglass session.
func outcomeOf(d *decision.Decision) (outcome, severity string) {
	switch {
	case d.Refuses():
		return "Denied", severityCritical
	case d.Verdict == decision.WouldDeny:
		return "WouldDeny", severityWarning
	case d.Verdict == decision.AllowWarning:
		return "Warning", severityWarning
	}
	for i := range d.Results {
		switch r := &d.Results[i]; {
		case r.Status == decision.Fail || r.Status == decision.Error:
			return "Evaluated", severityWarning
		case speaks(r):
			outcome, severity = "Allowed", severityInfo
		}
	}
	if d.Granted != nil {
		return "Granted", severityWarning
	}
	return outcome, severity
}

// familyOf is the first half of an event's type.
func familyOf(req *request.Request) string {
	switch {
	case enters(req):
		return "PodSecurity"
	case req.Door == request.Admission:
		return "Admission"
	default:
		return "Access"
	}
}
