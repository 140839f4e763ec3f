package workflow

import (
	"context"
	"encoding/json"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// validateSessionStatus judges a step of a session: what is written has to be what
// the step leads to, taken by whoever is authenticated, now.
func (g *Guard) validateSessionStatus(ctx context.Context, r *request.Request) error {
	session, old, err := sessionsOf(r)
	if err != nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(session.Spec, old.Spec) {
		return refuse("spec", "", "is not changed once it is asked for")
	}
	if apiequality.Semantic.DeepEqual(session.Status, old.Status) {
		return nil
	}
	if g.own(r.User.Name) {
		return validateOwnStatus(&session.Status, old)
	}
	want, err := g.stepped(ctx, r, session, old)
	if err != nil {
		return err
	}
	return sameStatus(&session.Status, want)
}

// stepped is the status that the step of a request leads to.
func (g *Guard) stepped(ctx context.Context, r *request.Request, session, old *v1alpha1.BreakglassSession) (*v1alpha1.BreakglassSessionStatus, error) {
	compiled, errs := breakglass.CompileSession(old)
	if len(errs) > 0 {
		return nil, fmt.Errorf("BreakglassSession %s cannot be read: %w", old.Name, errs.ToAggregate())
	}
	escalation, err := g.escalation(ctx, compiled.Escalation)
	if refused, ok := err.(*refusal); ok {
		// Whoever asked can withdraw, whatever became of the escalation.
		if stepOf(&session.Status, &old.Status).To != v1alpha1.SessionWithdrawn {
			return nil, refused
		}
	} else if err != nil {
		return nil, err
	}
	step := stepOf(&session.Status, &old.Status)
	step.By = personOf(r)
	want, err := breakglass.Apply(compiled, escalation, step, now(r))
	if err != nil {
		return nil, refuse("status.state", string(session.Status.State), "%s", err)
	}
	if step.To == v1alpha1.SessionApproved {
		if err := g.mayKnowEntries(escalation, compiled.Cluster); err != nil {
			return nil, err
		}
	}
	return want, nil
}

// mayKnowEntries refuses to approve what is to be done to the pods that are entered,
// where nobody sees which these are.
func (g *Guard) mayKnowEntries(e *breakglass.Escalation, cluster string) error {
	if e.AfterUse == nil || g.Doors == nil {
		return nil
	}
	switch doors := g.Doors(cluster); {
	case doors.Admission && doors.Uncounted:
		return refuse("spec.cluster", cluster, "BreakglassEscalation %s has afterUse: %s, and who enters pods is not counted where the front door is asked by callers that show no credentials (serve --callers network); ask by an escalation without afterUse",
			e.Name, e.AfterUse.Action)
	case doors.Admission:
		return nil
	}
	return refuse("spec.cluster", cluster, "BreakglassEscalation %s has afterUse: %s, and who enters pods is seen at the front door only, which cluster %q is not said to have; "+
		"list admission among spec.doors of its ClusterConfig (or serve --doors, for the cluster of the server itself) once it is wired, or ask by an escalation without afterUse",
		e.Name, e.AfterUse.Action, cluster)
}

// stepOf is the step that leads from one status to the next: one more approval, or
// another state. Nothing of it is believed but what is wanted, and why.
func stepOf(status, old *v1alpha1.BreakglassSessionStatus) breakglass.Step {
	if n := len(status.Approvals); n > len(old.Approvals) {
		return breakglass.Step{To: v1alpha1.SessionApproved, Reason: status.Approvals[n-1].Reason}
	}
	step := breakglass.Step{To: status.State}
	if n := len(status.History); n > len(old.History) {
		step.Reason = status.History[n-1].Reason
	}
	return step
}

// sameStatus compares what was written with what it has to be, field by field, and
// times no closer than clocks go.
func sameStatus(got, want *v1alpha1.BreakglassSessionStatus) error {
	got, want = got.DeepCopy(), want.DeepCopy()
	if len(got.Approvals) == len(want.Approvals) {
		for i := range got.Approvals {
			alike(&got.Approvals[i].At, &want.Approvals[i].At)
		}
	}
	if len(got.History) == len(want.History) {
		for i := range got.History {
			alike(&got.History[i].At, &want.History[i].At)
		}
	}
	for _, pair := range [][2]*metav1.Time{{got.RequestedAt, want.RequestedAt}, {got.ApprovedAt, want.ApprovedAt}, {got.ExpiresAt, want.ExpiresAt}, {got.EndedAt, want.EndedAt}, {got.RetainedUntil, want.RetainedUntil}} {
		if pair[0] != nil && pair[1] != nil {
			alike(pair[0], pair[1])
		}
	}
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"state", got.State, want.State}, {"requestedBy", got.RequestedBy, want.RequestedBy}, {"requestedAt", got.RequestedAt, want.RequestedAt},
		{"approvals", got.Approvals, want.Approvals}, {"approvedAt", got.ApprovedAt, want.ApprovedAt}, {"expiresAt", got.ExpiresAt, want.ExpiresAt},
		{"lastUsedAt", got.LastUsedAt, want.LastUsedAt}, {"endedAt", got.EndedAt, want.EndedAt}, {"retainedUntil", got.RetainedUntil, want.RetainedUntil},
		{"history", got.History, want.History}, {"terms", got.Terms, want.Terms}, {"entered", got.Entered, want.Entered}, {"notified", got.Notified, want.Notified},
		{"conditions", got.Conditions, want.Conditions},
	} {
		if !apiequality.Semantic.DeepEqual(f.got, f.want) {
			return refuse("status."+f.name, shown(f.got), "is not what this step leads to, which is %s", shown(f.want))
		}
	}
	// A field that is not named above is not let through by being forgotten.
	if !apiequality.Semantic.DeepEqual(got, want) {
		return refuse("status", "", "is not what this step leads to")
	}
	return nil
}

// alike makes two times the same that are no further apart than clocks go.
func alike(got, want *metav1.Time) {
	if d := got.Sub(want.Time); d.Abs() <= ClockSkew {
		*got = *want
	}
}

// shown is a value as it stands in an object.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 512
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// validateOwnStatus holds Sallyport's own replicas to what time leads to and what
// they note down: they approve nothing, and make nothing last longer.
func validateOwnStatus(status *v1alpha1.BreakglassSessionStatus, old *v1alpha1.BreakglassSession) error {
	before := &old.Status
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"approvals", status.Approvals, before.Approvals}, {"approvedAt", status.ApprovedAt, before.ApprovedAt},
		{"expiresAt", status.ExpiresAt, before.ExpiresAt}, {"terms", status.Terms, before.Terms},
	} {
		if !apiequality.Semantic.DeepEqual(f.got, f.want) {
			return refuse("status."+f.name, shown(f.got), "comes of what people answer, and not of Sallyport")
		}
	}
	if status.State == before.State {
		return nil
	}
	if breakglass.Final(before.State) {
		return refuse("status.state", string(status.State), "BreakglassSession %s is %s, which is final", old.Name, before.State)
	}
	switch status.State {
	case v1alpha1.SessionPending:
		if before.State == "" {
			return nil
		}
	case v1alpha1.SessionApproved:
		if before.State == v1alpha1.SessionWaiting {
			return nil
		}
	case v1alpha1.SessionApprovalTimeout:
		if before.State == v1alpha1.SessionPending || before.State == "" {
			return nil
		}
	case v1alpha1.SessionExpired, v1alpha1.SessionIdleExpired:
		if before.State == v1alpha1.SessionApproved || before.State == v1alpha1.SessionWaiting {
			return nil
		}
	}
	return refuse("status.state", string(status.State), "time alone does not make BreakglassSession %s %s from %q", old.Name, status.State, before.State)
}

// mutateSession fills in who asks, and the status that a step leads to.
func (g *Guard) mutateSession(ctx context.Context, r *request.Request) ([]patchOperation, error) {
	switch {
	case r.Subresource == "" && r.Operation == request.Create && r.Object != nil:
		session, err := decode[v1alpha1.BreakglassSession](r.Object.Raw)
		if err != nil {
			return nil, err
		}
		return whoAsks(session, r), nil
	case r.Subresource == "status" && r.Operation == request.Update && !g.own(r.User.Name):
		session, old, err := sessionsOf(r)
		if err != nil || apiequality.Semantic.DeepEqual(session.Status, old.Status) {
			return nil, err
		}
		want, err := g.stepped(ctx, r, session, old)
		if err != nil {
			return nil, err
		}
		// What is wrong is refused, and not put right: nobody shall believe that he
		// wrote what he did not.
		if err := sameStatus(&session.Status, want); err != nil {
			return nil, err
		}
		return []patchOperation{{Op: "add", Path: "/status", Value: want}}, nil
	}
	return nil, nil
}

// whoAsks fills in who asks for a session, where that is left out.
func whoAsks(session *v1alpha1.BreakglassSession, r *request.Request) []patchOperation {
	var patch []patchOperation
	for _, f := range []struct{ path, there, is string }{
		{"/spec/user", session.Spec.User, r.User.Name}, {"/spec/userUID", session.Spec.UserUID, r.User.UID},
	} {
		if f.there == "" && f.is != "" {
			patch = append(patch, patchOperation{Op: "add", Path: f.path, Value: f.is})
		}
	}
	return patch
}
