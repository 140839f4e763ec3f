package breakglass

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// sessionRow is what is said of one session.
type sessionRow struct {
	Name       string                `json:"name"`
	User       string                `json:"user"`
	UserUID    string                `json:"userUID,omitempty"`
	Cluster    string                `json:"cluster"`
	Escalation string                `json:"escalation"`
	Group      string                `json:"group,omitempty"`
	State      v1alpha1.SessionState `json:"state"`
	// Why it gives nothing, where that is not what its state says.
	Why           string                       `json:"why,omitempty"`
	Reason        string                       `json:"reason,omitempty"`
	RequestedAt   *metav1.Time                 `json:"requestedAt,omitempty"`
	BeginsAt      *metav1.Time                 `json:"beginsAt,omitempty"`
	ExpiresAt     *metav1.Time                 `json:"expiresAt,omitempty"`
	EndedAt       *metav1.Time                 `json:"endedAt,omitempty"`
	LastUsedAt    *metav1.Time                 `json:"lastUsedAt,omitempty"`
	RetainedUntil *metav1.Time                 `json:"retainedUntil,omitempty"`
	Required      int                          `json:"requiredApprovals,omitempty"`
	Approvals     []v1alpha1.SessionApproval   `json:"approvals,omitempty"`
	History       []v1alpha1.SessionTransition `json:"history,omitempty"`
	Entered       []v1alpha1.EnteredPod        `json:"entered,omitempty"`
	Conditions    []metav1.Condition           `json:"conditions,omitempty"`
}

// row says how a session stands at a time.
func (o *sessionObjects) row(object *v1alpha1.BreakglassSession, now time.Time) sessionRow {
	spec, status := &object.Spec, &object.Status
	row := sessionRow{
		Name: object.Name, User: spec.User, UserUID: spec.UserUID, Cluster: spec.Cluster, Escalation: spec.EscalationRef, Group: spec.GrantedGroup,
		Reason: spec.RequestReason, State: status.State,
	}
	compiled, errs := breakglass.CompileSession(object)
	e := o.escalations[spec.EscalationRef]
	switch {
	case len(errs) > 0:
		row.Why = "it cannot be used: " + errs.ToAggregate().Error()
	case !o.byStatus:
		// What time has brought is said, and not taken for written down.
		if due := compiled.Now(e, now); due.State != status.State {
			row.State = due.State
			if breakglass.Final(due.State) && len(due.History) > 0 {
				row.Why = due.History[len(due.History)-1].Reason
			}
		} else if due.State == v1alpha1.SessionApproved {
			if ok, why := compiled.Active(e, time.Time{}, now); !ok {
				row.Why = why
			}
		}
	}
	if row.State == "" {
		row.State = v1alpha1.SessionPending
	}
	if e != nil {
		row.Group, row.Required = cmp.Or(row.Group, e.Group), e.Required()
	} else if status.Terms != nil {
		row.Group = cmp.Or(row.Group, status.Terms.EscalatedGroup)
	}
	if status.ApprovedAt != nil && compiled != nil {
		at := metav1.NewTime(compiled.Begins())
		row.BeginsAt = &at
	}
	row.RequestedAt, row.ExpiresAt, row.EndedAt = status.RequestedAt, status.ExpiresAt, status.EndedAt
	if row.RequestedAt == nil && !object.CreationTimestamp.IsZero() {
		row.RequestedAt = &object.CreationTimestamp
	}
	row.LastUsedAt, row.RetainedUntil = status.LastUsedAt, status.RetainedUntil
	row.Approvals, row.History, row.Entered = status.Approvals, status.History, status.Entered
	row.Conditions = status.Conditions
	return row
}

// sortRows sorts by when sessions were asked for, the last one first.
func sortRows(rows []sessionRow) {
	slices.SortStableFunc(rows, func(a, b sessionRow) int {
		return cmp.Or(timeAt(b.RequestedAt).Compare(timeAt(a.RequestedAt)), cmp.Compare(a.Name, b.Name))
	})
}

func timeAt(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func timeOr(t *metav1.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// by names those who approved, or how many are missing.
func (r *sessionRow) by() string {
	names := make([]string, len(r.Approvals))
	for i := range r.Approvals {
		names[i] = r.Approvals[i].By
	}
	text := strings.Join(names, ", ")
	if r.State == v1alpha1.SessionPending && r.Required > 1 {
		text = strings.TrimSpace(fmt.Sprintf("%s (%d of %d)", text, len(names), r.Required))
	}
	return text
}

// lastUsed is when the session was used last, as far as somebody sees that.
func (r *sessionRow) lastUsed() string {
	known := meta.FindStatusCondition(r.Conditions, breakglass.ConditionEntriesKnown)
	if r.LastUsedAt == nil && known != nil && known.Status != metav1.ConditionTrue {
		return "unknown"
	}
	return timeOr(r.LastUsedAt)
}

// writeSessions writes for people.
func writeSessions(out io.Writer, rows []sessionRow, history bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "there are no sessions")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tUSER\tCLUSTER\tESCALATION\tGROUP\tSTATE\tUNTIL\tAPPROVED BY\tLAST USED\tREASON")
	for i := range rows {
		r := &rows[i]
		ends := r.ExpiresAt
		if r.EndedAt != nil {
			ends = r.EndedAt
		}
		cells := []string{r.Name, r.User, cmp.Or(r.Cluster, "-"), r.Escalation, cmp.Or(r.Group, "-"), string(r.State), timeOr(ends), cmp.Or(r.by(), "-"), r.lastUsed(), cmp.Or(r.Reason, "-")}
		if r.Why != "" {
			cells[len(cells)-1] += " (" + r.Why + ")"
		}
		for j := range cells {
			cells[j] = decision.Clean(cells[j])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil || !history {
		return err
	}
	for i := range rows {
		if _, err := fmt.Fprint(out, rows[i].record()); err != nil {
			return err
		}
	}
	return nil
}

// record is what became of a session, a line a step.
func (r *sessionRow) record() string {
	var text strings.Builder
	line := func(parts ...string) {
		text.WriteString("  ")
		for i, part := range parts {
			if part == "" {
				continue
			}
			if i > 0 {
				text.WriteByte(' ')
			}
			text.WriteString(decision.Clean(part))
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "\n%s\n", decision.Clean(r.Name))
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return "(" + reason + ")"
	}
	from := func(by string) string {
		if by == "" {
			return ""
		}
		return "by " + by
	}
	steps := slices.Clone(r.History)
	for i := range r.Approvals {
		// The approval that was enough stands in the history as a step.
		a := &r.Approvals[i]
		if !slices.ContainsFunc(r.History, func(t v1alpha1.SessionTransition) bool {
			return t.By == a.By && t.At.Equal(&a.At) && (t.State == v1alpha1.SessionApproved || t.State == v1alpha1.SessionWaiting)
		}) {
			steps = append(steps, v1alpha1.SessionTransition{State: "approval", At: a.At, By: a.By, Reason: a.Reason})
		}
	}
	slices.SortStableFunc(steps, func(a, b v1alpha1.SessionTransition) int { return a.At.Compare(b.At.Time) })
	for i := range steps {
		t := &steps[i]
		line(t.At.UTC().Format(time.RFC3339), string(t.State), from(t.By), because(t.Reason))
	}
	for i := range r.Entered {
		p := &r.Entered[i]
		done := ""
		if p.AfterUse != "" {
			done = fmt.Sprintf("(%s at %s)", p.AfterUse, timeOr(p.AfterUseAt))
		}
		line(p.First.UTC().Format(time.RFC3339), "entered pod", p.Namespace+"/"+p.Name, "until "+p.Last.UTC().Format(time.RFC3339), done)
	}
	for i := range r.Conditions {
		if c := &r.Conditions[i]; c.Status != metav1.ConditionTrue {
			line("note:", c.Message)
		}
	}
	if r.RetainedUntil != nil {
		line("kept until", timeOr(r.RetainedUntil))
	}
	return text.String()
}
