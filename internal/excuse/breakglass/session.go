package breakglass

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Session is a compiled BreakglassSession. It is not changed once it is made.
type Session struct {
	Name, UID     string
	User, Cluster string
	// UserUID is the uid of whoever asked; empty where the API server gave none.
	UserUID    string
	Escalation string

	object      *v1alpha1.BreakglassSession
	maxValidFor time.Duration
	idleTimeout time.Duration
	retainFor   time.Duration
	// terms are what the escalation gave when the session was approved; nil where
	// nothing is written down.
	terms          *v1alpha1.SessionTerms
	termsIdle      time.Duration
	termsOverrides *Overrides
}

// CompileSession compiles a session with its status as it stands there.
func CompileSession(s *v1alpha1.BreakglassSession) (*Session, field.ErrorList) {
	at := field.NewPath("spec")
	c := &Session{Name: s.Name, UID: string(s.UID), User: s.Spec.User, UserUID: s.Spec.UserUID, Cluster: s.Spec.Cluster, Escalation: s.Spec.EscalationRef, object: s}
	var errs field.ErrorList
	if s.Spec.User == "" {
		errs = append(errs, field.Required(at.Child("user"), "say who asks"))
	}
	if s.Spec.EscalationRef == "" {
		errs = append(errs, field.Required(at.Child("escalationRef"), "name a BreakglassEscalation"))
	}
	if s.Spec.GrantedGroup == mastersGroup {
		errs = append(errs, field.Forbidden(at.Child("grantedGroup"), mastersGroup+" is given to nobody"))
	}
	errs = append(errs, readDuration(s.Spec.MaxValidFor, &c.maxValidFor, at.Child("maxValidFor"))...)
	errs = append(errs, readDuration(s.Spec.IdleTimeout, &c.idleTimeout, at.Child("idleTimeout"))...)
	errs = append(errs, readDuration(s.Spec.RetainFor, &c.retainFor, at.Child("retainFor"))...)
	status := field.NewPath("status")
	if !known(s.Status.State) {
		errs = append(errs, field.NotSupported(status.Child("state"), s.Status.State, states))
	}
	if t := s.Status.Terms; t != nil {
		c.terms = t
		errs = append(errs, readDuration(t.IdleTimeout, &c.termsIdle, status.Child("terms", "idleTimeout"))...)
		if t.PodSecurityOverrides != nil {
			var more field.ErrorList
			c.termsOverrides, more = compileOverrides(t.PodSecurityOverrides, status.Child("terms", "podSecurityOverrides"))
			errs = append(errs, more...)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return c, nil
}

var states = []v1alpha1.SessionState{
	v1alpha1.SessionPending, v1alpha1.SessionApproved, v1alpha1.SessionWaiting, v1alpha1.SessionRejected, v1alpha1.SessionWithdrawn,
	v1alpha1.SessionRevoked, v1alpha1.SessionApprovalTimeout, v1alpha1.SessionExpired, v1alpha1.SessionIdleExpired,
}

// States are all states.
func States() []v1alpha1.SessionState { return slices.Clone(states) }

func known(s v1alpha1.SessionState) bool { return s == "" || slices.Contains(states, s) }

// Final reports whether a state is one that nothing leads out of.
func Final(s v1alpha1.SessionState) bool {
	switch s {
	case "", v1alpha1.SessionPending, v1alpha1.SessionApproved, v1alpha1.SessionWaiting:
		return false
	}
	return true
}

// begins is when access begins by the status; ok is false where it never does.
func (s *Session) begins() (time.Time, bool) {
	status := &s.object.Status
	if status.ApprovedAt == nil {
		return time.Time{}, false
	}
	begin := status.ApprovedAt.Time
	if at := s.object.Spec.ScheduledStartTime; at != nil && at.After(begin) {
		begin = at.Time
	}
	return begin, true
}

// ends is when access ends: what the status says, and no later than the session and
// the escalation allow from when it began.
func (s *Session) ends(e *Escalation, begin time.Time) time.Time {
	end := begin.Add(e.maxValidFor)
	if s.maxValidFor > 0 {
		end = earlier(end, begin.Add(s.maxValidFor))
	}
	if at := s.object.Status.ExpiresAt; at != nil {
		end = earlier(end, at.Time)
	}
	return end
}

// idle is after how long without use the session ends; 0 for never.
func (s *Session) idle(e *Escalation) time.Duration {
	least := time.Duration(0)
	for _, d := range []time.Duration{e.idleTimeout, s.idleTimeout, s.termsIdle} {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// Active reports whether the session gives access at a time, to whoever may use it. lastUsed is when this
// server saw it used last; zero if it did not. The state alone gives nothing: what
// counts are the times, so that a session ends when it ends, whoever has noticed.
// why says why it does not.
func (s *Session) Active(e *Escalation, lastUsed, now time.Time) (ok bool, why string) {
	state := s.object.Status.State
	switch {
	case e == nil:
		return false, fmt.Sprintf("BreakglassEscalation %s is not there any more", s.Escalation)
	case !s.Under(e.UID):
		return false, fmt.Sprintf("BreakglassEscalation %s was made again since it was approved", s.Escalation)
	case state != v1alpha1.SessionApproved && state != v1alpha1.SessionWaiting:
		return false, fmt.Sprintf("it is %s", orPending(state))
	case !e.clusters.Match(s.Cluster):
		return false, fmt.Sprintf("BreakglassEscalation %s is not for cluster %q any more", e.Name, s.Cluster)
	}
	begin, approved := s.begins()
	switch {
	case !approved:
		return false, "status.approvedAt does not say when it was approved"
	case now.Before(begin):
		return false, "it begins at " + timestamp(begin)
	}
	if end := s.ends(e, begin); !now.Before(end) {
		return false, "it expired at " + timestamp(end)
	}
	if idle := s.idle(e); idle > 0 {
		used := later(later(begin, lastUsed), timeOf(s.object.Status.LastUsedAt))
		if !now.Before(used.Add(idle)) {
			return false, "it was not used since " + timestamp(used)
		}
	}
	return true, ""
}

// Usable reports whether somebody, as he is authenticated now, may use the session: he
// is who asked for it, and could ask for it again. Why says why not.
func (s *Session) Usable(e *Escalation, by Person) (ok bool, why string) {
	switch {
	case by.Name != s.User:
		return false, "it is of " + s.User
	case s.UserUID != "" && by.UID == "":
		return false, fmt.Sprintf("the API server knew %s by a uid when it was asked for, and gives none now", s.User)
	case s.UserUID != "" && by.UID != s.UserUID:
		return false, fmt.Sprintf("the API server knew %s by another uid when it was asked for", s.User)
	case e == nil:
		return false, fmt.Sprintf("BreakglassEscalation %s is not there any more", s.Escalation)
	}
	return e.MayAsk(by, s.Cluster)
}

// Impersonable reports whether others may act as the user of the session while it is
// active: the escalation says so now, and said so when the session was approved.
func (s *Session) Impersonable(e *Escalation) bool {
	return e.spec.AllowImpersonation && (s.terms == nil || s.terms.AllowImpersonation)
}

// QuestionsCount reports whether what the side door hears counts as use: the escalation
// says so now, and said so when the session was approved.
func (s *Session) QuestionsCount(e *Escalation) bool {
	return e.spec.Idle == v1alpha1.IdleAuthorizer && (s.terms == nil || s.terms.Idle == v1alpha1.IdleAuthorizer)
}

// Under reports whether the escalation of that UID is the one that the session was
// approved under, and not another that was given its name. Objects of files have none.
func (s *Session) Under(uid string) bool {
	return uid == "" || s.terms == nil || s.terms.EscalationUID == "" || s.terms.EscalationUID == uid
}

// Group is the group whose rights the session gives; empty for none. It gives none
// if the escalation names another group than when it was approved.
func (s *Session) Group(e *Escalation) string {
	group := e.Group
	if group == mastersGroup ||
		s.object.Spec.GrantedGroup != "" && s.object.Spec.GrantedGroup != group ||
		s.terms != nil && s.terms.EscalatedGroup != group {
		return ""
	}
	return group
}

// BringsAlong reports whether a DenyPolicy holds for the user because of the session:
// by what the escalation names now, or by what it named when the session was approved.
// One that is named no more would leave the session more than was approved.
func (g *Grant) BringsAlong(policy string) bool {
	return slices.Contains(g.Escalation.DenyPolicyRefs, policy) || g.terms != nil && slices.Contains(g.terms.DenyPolicyRefs, policy)
}

// Overrides are what the session excuses for pods of a namespace: no more than the
// escalation gives now, and no more than it gave when the session was approved. nil:
// nothing.
func (s *Session) Overrides(e *Escalation, namespace string, labels func() (map[string]string, error)) (*Overrides, error) {
	o := e.overrides
	if s.terms != nil {
		o = o.both(s.termsOverrides)
	}
	if o == nil || !o.enabled {
		return nil, nil
	}
	if o.approval && !s.overridesApproved(e) {
		return nil, nil
	}
	if in, err := o.in(namespace, labels); !in {
		return nil, err
	}
	return o, nil
}

// overridesApproved reports, of overrides that the escalation gives and gave when the
// session was approved, whether one of those who may approve the overrides is
// among those who approved the session. He has to have been one when he approved, so
// that nobody becomes one later for what he did before. Where the escalation names
// others by now, he has to be named among these as well: in which groups he was is
// written down nowhere.
func (s *Session) overridesApproved(e *Escalation) bool {
	same := s.terms == nil || reflect.DeepEqual(s.terms.PodSecurityOverrides.Approvers, e.spec.PodSecurityOverrides.Approvers)
	approvals := s.object.Status.Approvals
	return slices.ContainsFunc(approvals, func(a v1alpha1.SessionApproval) bool {
		// Those that did not count for the session do not count for this either.
		if a.EscalationVersion != approvals[len(approvals)-1].EscalationVersion {
			return false
		}
		named := e.mayApproveOverrides(Person{Name: a.By})
		if s.terms == nil {
			return a.Overrides || named
		}
		return a.Overrides && (same || named)
	})
}

// ExpiresAt is when the session ends if it is used until then.
func (s *Session) ExpiresAt(e *Escalation) time.Time {
	begin, ok := s.begins()
	if !ok {
		return time.Time{}
	}
	return s.ends(e, begin)
}

// Object is the session as it is stored. It must not be changed.
func (s *Session) Object() *v1alpha1.BreakglassSession { return s.object }

func orPending(s v1alpha1.SessionState) v1alpha1.SessionState {
	if s == "" {
		return v1alpha1.SessionPending
	}
	return s
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
