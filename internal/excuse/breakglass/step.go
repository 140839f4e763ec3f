package breakglass

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// longestHistory is how many states are kept of a session: there is no way to more
// than a few.
const longestHistory = 64

// CheckAsk says why somebody may not ask for what stands in the session; nil if he
// may.
func CheckAsk(s *Session, e *Escalation, by Person, now time.Time) error {
	spec := &s.object.Spec
	if spec.User != by.Name {
		return fmt.Errorf("spec.user is %q, and %q asks: everybody asks for himself", spec.User, by.Name)
	}
	switch {
	case spec.UserUID == by.UID:
	case by.UID == "":
		return fmt.Errorf("spec.userUID is %q, and the API server gives %q no uid; leave it out", spec.UserUID, by.Name)
	default:
		return fmt.Errorf("spec.userUID is %q, and the API server knows %q by the uid %q; leave it out, and it is filled in (by the webhook /mutate)", spec.UserUID, by.Name, by.UID)
	}
	if ok, why := e.MayAsk(by, spec.Cluster); !ok {
		return errors.New(why)
	}
	if spec.GrantedGroup != "" && spec.GrantedGroup != e.Group {
		return fmt.Errorf("spec.grantedGroup is %q; BreakglassEscalation %s gives %q", spec.GrantedGroup, e.Name, e.Group)
	}
	for _, d := range []struct {
		name        string
		asked, most time.Duration
	}{{"maxValidFor", s.maxValidFor, e.maxValidFor}, {"idleTimeout", s.idleTimeout, e.idleTimeout}, {"retainFor", s.retainFor, 0}} {
		if d.most > 0 && d.asked > d.most {
			return fmt.Errorf("spec.%s is %s; BreakglassEscalation %s gives at most %s", d.name, d.asked, e.Name, d.most)
		}
	}
	if s.retainFor > 0 && s.retainFor < e.retainFor {
		return fmt.Errorf("spec.retainFor is %s; BreakglassEscalation %s has sessions kept for %s at least", s.retainFor, e.Name, e.retainFor)
	}
	if most := max(e.retainFor, longestRetained); s.retainFor > most {
		return fmt.Errorf("spec.retainFor is %s; nobody can have a session kept for longer than %s", s.retainFor, most)
	}
	if r := e.spec.RequestReason; r != nil && r.Mandatory && strings.TrimSpace(spec.RequestReason) == "" {
		return fmt.Errorf("spec.requestReason is missing; BreakglassEscalation %s asks for it%s", e.Name, described(r))
	}
	if at := spec.ScheduledStartTime; at != nil && at.After(now.Add(longestAhead)) {
		return fmt.Errorf("spec.scheduledStartTime is %s, more than %d days ahead", timestamp(at.Time), int(longestAhead.Hours()/24))
	}
	return nil
}

// longestRetained is how long whoever asks can have the record kept, where the
// escalation keeps it for less: until then nobody can delete it.
const longestRetained = 5 * 365 * 24 * time.Hour

// longestAhead is how far ahead a session can be asked for.
const longestAhead = 90 * 24 * time.Hour

func described(r *v1alpha1.ReasonRule) string {
	if r.Description == "" {
		return ""
	}
	return ": " + r.Description
}

// Step is what somebody does to a session.
type Step struct {
	// To is the state that is wanted: Approved, Rejected, Withdrawn or Revoked.
	To     v1alpha1.SessionState
	By     Person
	Reason string
}

// Apply makes the status that a step leads to. An error says why it may not be
// taken. The session is not changed.
func Apply(s *Session, e *Escalation, step Step, now time.Time) (*v1alpha1.BreakglassSessionStatus, error) {
	if s.object.Status.State == "" {
		// Nobody has noted down yet that it was asked for.
		begun, _ := Tick(s, e, time.Time{}, now)
		s = s.with(begun)
	}
	status := s.object.Status.DeepCopy()
	from := status.State
	if Final(from) {
		return nil, fmt.Errorf("BreakglassSession %s is %s, which is final", s.Name, from)
	}
	// What time has brought comes first: no one approves what has timed out. What it has
	// brought is not known without an escalation, which may only be broken and come
	// back: whoever asked can withdraw meanwhile.
	if due, _ := Tick(s, e, time.Time{}, now); Final(due.State) && (e != nil || step.To != v1alpha1.SessionWithdrawn) {
		return nil, fmt.Errorf("BreakglassSession %s is %s by now, which is final", s.Name, due.State)
	}
	switch step.To {
	case v1alpha1.SessionApproved:
		return approve(s, e, status, from, step, now)
	case v1alpha1.SessionRejected:
		if from != v1alpha1.SessionPending {
			return nil, fmt.Errorf("BreakglassSession %s is %s; what is approved is revoked, and not rejected", s.Name, from)
		}
		if err := mayAnswer(s, e, step.By); err != nil {
			return nil, err
		}
	case v1alpha1.SessionRevoked:
		if from == v1alpha1.SessionPending {
			return nil, fmt.Errorf("BreakglassSession %s is Pending; it can be rejected, and not revoked", s.Name)
		}
		if err := mayAnswer(s, e, step.By); err != nil {
			return nil, err
		}
	case v1alpha1.SessionWithdrawn:
		if step.By.Name != s.User {
			return nil, fmt.Errorf("BreakglassSession %s was asked for by %s, and only they can withdraw it", s.Name, s.User)
		}
	default:
		return nil, fmt.Errorf("BreakglassSession %s is %s; nobody can make it %q: Approved, Rejected, Withdrawn and Revoked can be asked for", s.Name, from, step.To)
	}
	end(s, e, status, step.To, step.By.Name, step.Reason, now)
	return status, nil
}

// with is the session with another status, of which nothing is approved yet.
func (s *Session) with(status *v1alpha1.BreakglassSessionStatus) *Session {
	n, object := *s, *s.object
	object.Status = *status
	n.object = &object
	return &n
}

func mayAnswer(s *Session, e *Escalation, by Person) error {
	if e == nil {
		return fmt.Errorf("BreakglassEscalation %s is not there any more, so nobody is an approver", s.Escalation)
	}
	if !e.MayAnswer(by) {
		return fmt.Errorf("%s is not an approver of BreakglassEscalation %s; approvers are %s", by.Name, e.Name, strings.Join(e.Approvers(), ", "))
	}
	return nil
}

func approve(s *Session, e *Escalation, status *v1alpha1.BreakglassSessionStatus, from v1alpha1.SessionState, step Step, now time.Time) (*v1alpha1.BreakglassSessionStatus, error) {
	if from != v1alpha1.SessionPending {
		return nil, fmt.Errorf("BreakglassSession %s is %s already", s.Name, from)
	}
	if err := mayAnswer(s, e, step.By); err != nil {
		return nil, err
	}
	switch {
	case s.object.DeletionTimestamp != nil:
		// Nobody is asked once more when its last finalizer goes, and its record with it.
		return nil, fmt.Errorf("BreakglassSession %s is being deleted since %s; ask again", s.Name, timestamp(s.object.DeletionTimestamp.Time))
	case step.By.Name == s.User && !e.spec.AllowSelfApproval:
		return nil, fmt.Errorf("%s asked for BreakglassSession %s, and nobody approves his own", s.User, s.Name)
	case slices.ContainsFunc(status.Approvals, func(a v1alpha1.SessionApproval) bool { return a.By == step.By.Name && e.approved(a) }):
		return nil, fmt.Errorf("%s has approved BreakglassSession %s already; %d different people have to", step.By.Name, s.Name, e.required)
	}
	if r := e.spec.ApprovalReason; r != nil && r.Mandatory && strings.TrimSpace(step.Reason) == "" {
		return nil, fmt.Errorf("the reason is missing; BreakglassEscalation %s asks for it of whoever approves%s", e.Name, described(r))
	}
	status.State = v1alpha1.SessionPending
	status.Approvals = append(status.Approvals, v1alpha1.SessionApproval{
		By: step.By.Name, At: metav1.NewTime(now), Reason: step.Reason,
		EscalationVersion: e.Version,
		Overrides:         e.overrides != nil && e.overrides.enabled && e.mayApproveOverrides(step.By),
	})
	counted := 0
	for _, a := range status.Approvals {
		if e.approved(a) {
			counted++
		}
	}
	if counted < e.required {
		return status, nil
	}
	at := metav1.NewTime(now)
	status.ApprovedAt = &at
	begin, to := now, v1alpha1.SessionApproved
	if scheduled := s.object.Spec.ScheduledStartTime; scheduled != nil && scheduled.After(now) {
		begin, to = scheduled.Time, v1alpha1.SessionWaiting
	}
	valid := e.maxValidFor
	if s.maxValidFor > 0 {
		valid = min(valid, s.maxValidFor)
	}
	expires := metav1.NewTime(begin.Add(valid))
	status.ExpiresAt = &expires
	status.Terms = &v1alpha1.SessionTerms{
		EscalationUID: e.UID, EscalatedGroup: e.Group, Clusters: slices.Clone(e.spec.Allowed.Clusters), IdleTimeout: e.spec.IdleTimeout,
		Idle: e.spec.Idle, AllowImpersonation: e.spec.AllowImpersonation,
		DenyPolicyRefs: slices.Clone(e.spec.DenyPolicyRefs), PodSecurityOverrides: e.spec.PodSecurityOverrides.DeepCopy(),
		AfterUse: e.spec.AfterUse.DeepCopy(),
	}
	move(status, to, step.By.Name, step.Reason, now)
	return status, nil
}

// approved reports whether an approval is of what the escalation says now: nobody has
// approved what it says only since.
func (e *Escalation) approved(a v1alpha1.SessionApproval) bool {
	return a.EscalationVersion == e.Version
}

// move puts a session into a state, and writes that down.
func move(status *v1alpha1.BreakglassSessionStatus, to v1alpha1.SessionState, by, reason string, now time.Time) {
	status.State = to
	if len(status.History) < longestHistory {
		status.History = append(status.History, v1alpha1.SessionTransition{State: to, At: metav1.NewTime(now), By: by, Reason: reason})
	}
}

// end puts a session into a final state.
func end(s *Session, e *Escalation, status *v1alpha1.BreakglassSessionStatus, to v1alpha1.SessionState, by, reason string, now time.Time) {
	move(status, to, by, reason, now)
	at := metav1.NewTime(now)
	retain := DefaultRetainFor
	if e != nil {
		retain = e.retainFor
	}
	until := metav1.NewTime(now.Add(max(retain, s.retainFor)))
	status.EndedAt, status.RetainedUntil = &at, &until
}

// Tick makes the status that only time leads to, and reports whether that is
// another one. lastUsed is when the session was seen used last.
func Tick(s *Session, e *Escalation, lastUsed, now time.Time) (*v1alpha1.BreakglassSessionStatus, bool) {
	status := s.object.Status.DeepCopy()
	switch status.State {
	case "":
		status.RequestedBy = s.User
		asked := s.object.CreationTimestamp
		if asked.IsZero() {
			asked = metav1.NewTime(now)
		}
		status.RequestedAt = &asked
		move(status, v1alpha1.SessionPending, s.User, s.object.Spec.RequestReason, asked.Time)
		return status, true
	case v1alpha1.SessionPending:
		timeout := DefaultApprovalTimeout
		if e != nil {
			timeout = e.approvalTimeout
		}
		if asked := s.asked(); !asked.IsZero() && !now.Before(asked.Add(timeout)) {
			end(s, e, status, v1alpha1.SessionApprovalTimeout, "", "nobody answered in "+timeout.String(), now)
			return status, true
		}
	case v1alpha1.SessionWaiting, v1alpha1.SessionApproved:
		return tickApproved(s, e, status, lastUsed, now)
	}
	return status, false
}

// asked is when the session was asked for.
func (s *Session) asked() time.Time {
	if at := s.object.Status.RequestedAt; at != nil {
		return at.Time
	}
	return s.object.CreationTimestamp.Time
}

func tickApproved(s *Session, e *Escalation, status *v1alpha1.BreakglassSessionStatus, lastUsed, now time.Time) (*v1alpha1.BreakglassSessionStatus, bool) {
	if e == nil {
		end(s, e, status, v1alpha1.SessionExpired, "", "BreakglassEscalation "+s.Escalation+" is not there any more", now)
		return status, true
	}
	begin, approved := s.begins()
	if !approved {
		return status, false
	}
	if finish := s.ends(e, begin); !now.Before(finish) {
		end(s, e, status, v1alpha1.SessionExpired, "", "its time was over at "+timestamp(finish), now)
		return status, true
	}
	if now.Before(begin) {
		return status, false
	}
	if idle := s.idle(e); idle > 0 {
		used := later(later(begin, lastUsed), timeOf(status.LastUsedAt))
		if !now.Before(used.Add(idle)) {
			end(s, e, status, v1alpha1.SessionIdleExpired, "", "it was not used since "+timestamp(used), now)
			return status, true
		}
	}
	if status.State == v1alpha1.SessionWaiting {
		move(status, v1alpha1.SessionApproved, "", "the scheduled time has come", now)
		return status, true
	}
	return status, false
}
