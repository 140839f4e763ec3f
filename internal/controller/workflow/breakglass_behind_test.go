package workflow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestSweepsOfWhatIsWatched ends no session because of what the watch does not know yet,
// and none because its escalation is broken for a while.
func TestSweepsOfWhatIsWatched(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	status := func(state v1alpha1.SessionState, change func(*v1alpha1.BreakglassSessionStatus)) v1alpha1.BreakglassSessionStatus {
		s := v1alpha1.BreakglassSessionStatus{State: state, RequestedAt: at(-time.Minute)}
		if state != v1alpha1.SessionPending {
			s.ApprovedAt, s.ExpiresAt, s.Terms = at(-time.Minute), at(time.Hour), &v1alpha1.SessionTerms{EscalationUID: "e1", EscalatedGroup: "debuggers"}
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	const pending, approved, waiting, expired, revoked = v1alpha1.SessionPending, v1alpha1.SessionApproved, v1alpha1.SessionWaiting, v1alpha1.SessionExpired, v1alpha1.SessionRevoked
	over := func(s *v1alpha1.BreakglassSessionStatus) { s.RequestedAt = at(-100 * time.Hour) }
	kept := func(s *v1alpha1.BreakglassSessionStatus) { s.RetainedUntil = at(0) }
	unread := func(s *v1alpha1.BreakglassSessionStatus) { s.Terms.EscalationUID, s.Terms.IdleTimeout = "e0", "soon" }
	broken := strings.Replace(escalationText, "maxValidFor: 1h", "maxValidFor: soon", 1)
	for name, c := range map[string]struct {
		status v1alpha1.BreakglassSessionStatus
		// watched and stored are the escalation where it is watched, and in the API
		// server; empty for none.
		watched, stored string
		away            bool
		want            v1alpha1.SessionState
		says            string
	}{
		"in force":                              {status(approved, nil), escalationText, escalationText, false, approved, ""},
		"the escalation is gone":                {status(approved, nil), "", "", false, expired, ""},
		"waiting, the escalation is gone":       {status(waiting, nil), "", "", false, expired, ""},
		"the escalation is not watched yet":     {status(approved, nil), "", escalationText, false, approved, ""},
		"waiting, it is not watched yet":        {status(waiting, func(s *v1alpha1.BreakglassSessionStatus) { s.ApprovedAt = at(time.Minute) }), "", escalationText, false, waiting, ""},
		"no one can tell whether it is there":   {status(approved, nil), "", "", true, approved, ""},
		"the escalation is another":             {status(approved, nil), strings.Replace(escalationText, "uid: e1", "uid: e2", 1), strings.Replace(escalationText, "uid: e1", "uid: e2", 1), false, expired, ""},
		"the watch is behind":                   {status(approved, nil), strings.Replace(escalationText, "uid: e1", "uid: e0", 1), escalationText, false, approved, ""},
		"the escalation is broken":              {status(approved, nil), broken, broken, false, approved, "BreakglassEscalation debug cannot work"},
		"pending, the escalation is broken":     {status(pending, over), broken, broken, false, pending, "BreakglassEscalation debug cannot work"},
		"pending for too long":                  {status(pending, over), escalationText, escalationText, false, v1alpha1.SessionApprovalTimeout, ""},
		"pending for too long, and no one asks": {status(pending, over), "", escalationText, false, v1alpha1.SessionApprovalTimeout, ""},
		"over, the escalation is broken":        {status(revoked, kept), broken, broken, false, "", "BreakglassEscalation debug cannot work"},
		"over for long":                         {status(revoked, kept), escalationText, escalationText, false, "", ""},
		"over, kept for no time that is known":  {status(revoked, nil), escalationText, escalationText, false, revoked, ""},
		"in force, as if it were kept":          {status(approved, kept), escalationText, escalationText, false, approved, ""},
		"what cannot be read":                   {status(approved, unread), escalationText, escalationText, false, approved, "BreakglassSession s cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := requested(t)
			s.Status = c.status
			watched, stored := newSessions(t, escalationText, s.DeepCopy()), newSessions(t, escalationText, s.DeepCopy())
			for w, text := range map[*sessions]string{watched: c.watched, stored: c.stored} {
				e := parse[v1alpha1.BreakglassEscalation](t, escalationText)
				if err := w.api.Delete(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if text != "" {
					if err := w.api.Create(t.Context(), parse[v1alpha1.BreakglassEscalation](t, text)); err != nil {
						t.Fatal(err)
					}
				}
			}
			r := watched.replica()
			r.direct = stored.api
			if c.away {
				r.direct = interceptor.NewClient(stored.api, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return errors.New("etcd is away")
				}})
			}
			err := r.reconcileSessions(t.Context())
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v", err)
			}
			got := &v1alpha1.BreakglassSession{}
			switch err := watched.api.Get(t.Context(), client.ObjectKeyFromObject(s), got); {
			case apierrors.IsNotFound(err) && c.want == "":
			case err != nil || got.Status.State != c.want:
				t.Errorf("%v, status %+v", err, got.Status)
			}
		})
	}
}

// TestSweepsThatCannotRead says so, and does nothing.
func TestSweepsThatCannotRead(t *testing.T) {
	w := newSessions(t, escalationText, requested(t))
	r := w.replica()
	r.client = interceptor.NewClient(w.api, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("etcd is away")
	}})
	if err := r.reconcileSessions(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be listed") {
		t.Errorf("says %v", err)
	}
}

// TestWhatWasNotWrittenIsNotTold tells no one of what another replica may have written
// otherwise.
func TestWhatWasNotWrittenIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		broken error
		fails  bool
	}{
		"gone since":    {apierrors.NewNotFound(schema.GroupResource{Resource: "breakglasssessions"}, "s"), false},
		"changed since": {apierrors.NewConflict(schema.GroupResource{Resource: "breakglasssessions"}, "s", errors.New("x")), false},
		"not writable":  {errors.New("etcd is away"), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSessions(t, escalationText, requested(t))
			r := w.replica()
			r.client = interceptor.NewClient(w.api, interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return c.broken
			}})
			if err := r.reconcileSessions(t.Context()); (err != nil) != c.fails {
				t.Errorf("says %v", err)
			}
			if len(w.told) > 0 || len(w.recorded) > 0 {
				t.Errorf("told %v, recorded %v", w.told, w.recorded)
			}
		})
	}
}

// TestNoOneToTell notes down nothing where no one is told and nothing recorded.
func TestNoOneToTell(t *testing.T) {
	w := newSessions(t, escalationText, requested(t))
	r := w.replica()
	r.Breakglass.Notify, r.Breakglass.Record = nil, nil
	if err := r.reconcileSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.session(); s.Status.State != v1alpha1.SessionPending || len(s.Status.Notified) > 0 {
		t.Errorf("status %+v", s.Status)
	}
	// Whoever turns it on later does not hear of what was long ago.
	w.clock.SetTime(noon.Add(tooLate + time.Second))
	r = w.replica()
	s := w.session()
	if due := r.dueEvents(s, nil, w.clock.Now()); len(due) > 0 || !slices.Equal(s.Status.Notified, []string{"asked"}) {
		t.Errorf("due %v, noted down %v", due, s.Status.Notified)
	}
	s.Status.Notified = nil
	if due := r.dueEvents(s, nil, noon.Add(tooLate)); len(due) != 1 {
		t.Errorf("due %v", due)
	}
	empty := &v1alpha1.BreakglassSession{}
	if due := r.dueRecords(empty); len(due) > 0 || len(empty.Status.Notified) > 0 {
		t.Errorf("due %v, noted down %v", due, empty.Status.Notified)
	}
}

// TestHappened lists what others are told of a session.
func TestHappened(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	history := []v1alpha1.SessionTransition{{At: *at(0), By: "dave"}}
	type status = v1alpha1.BreakglassSessionStatus
	const notice = 5 * time.Minute
	approved := func(begun, ends time.Duration) status {
		return status{State: v1alpha1.SessionApproved, ApprovedAt: at(begun), ExpiresAt: at(ends)}
	}
	scheduled := approved(-time.Hour, 4*time.Minute)
	for name, c := range map[string]struct {
		status status
		start  *metav1.Time
		notice time.Duration
		want   string
	}{
		"nothing yet":                        {status{RequestedAt: at(0)}, nil, notice, ""},
		"asked, no one knows when":           {status{State: v1alpha1.SessionPending}, nil, notice, ""},
		"asked":                              {status{State: v1alpha1.SessionPending, RequestedAt: at(0)}, nil, notice, "asked"},
		"approved":                           {approved(-time.Hour, time.Hour), nil, notice, "approved"},
		"approved with no end":               {status{State: v1alpha1.SessionApproved, ApprovedAt: at(0)}, nil, notice, "approved"},
		"ends soon":                          {approved(-time.Hour, 5*time.Minute), nil, notice, "approved expiring"},
		"ends soon, no one wants to know":    {approved(-time.Hour, 0), nil, 0, "approved"},
		"ends soon, and no notice":           {approved(-time.Hour, time.Second), nil, -time.Second, "approved"},
		"ends now":                           {approved(-time.Hour, 0), nil, notice, "approved"},
		"is shorter than the notice":         {approved(-time.Minute, 4*time.Minute), nil, notice, "approved"},
		"has begun later, and is shorter":    {scheduled, at(-time.Minute), notice, "approved"},
		"was to begin before, is shorter":    {approved(-time.Minute, 4*time.Minute), at(-2 * time.Hour), notice, "approved"},
		"was to begin before":                {scheduled, at(-2 * time.Hour), notice, "approved expiring"},
		"waits":                              {status{State: v1alpha1.SessionWaiting, ApprovedAt: at(-time.Hour), ExpiresAt: at(time.Minute)}, nil, notice, "approved"},
		"rejected":                           {status{State: v1alpha1.SessionRejected, History: history}, nil, notice, "denied"},
		"withdrawn":                          {status{State: v1alpha1.SessionWithdrawn, History: history}, nil, notice, "withdrawn"},
		"withdrawn once approved":            {status{State: v1alpha1.SessionWithdrawn, ApprovedAt: at(0), History: history}, nil, notice, "approved ended"},
		"timed out":                          {status{State: v1alpha1.SessionApprovalTimeout, History: history}, nil, notice, "ended"},
		"over, and no one wrote when or who": {status{State: v1alpha1.SessionRevoked}, nil, notice, ""},
	} {
		s := &v1alpha1.BreakglassSession{Status: c.status}
		s.Spec.ScheduledStartTime = c.start
		var got []string
		for _, e := range happened(s, c.notice, noon) {
			got = append(got, string(e.Type))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
