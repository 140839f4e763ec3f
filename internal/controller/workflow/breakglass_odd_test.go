package workflow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestConcerns says which requests the guard has something to say about, and which are
// refused where there is no guard.
func TestConcerns(t *testing.T) {
	exception := exceptionText(exception.KindException, "{policyName: p}")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
	none := func(*request.Request) {}
	deleted := func(r *request.Request) { r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object }
	accessed := func(r *request.Request) { r.Door = request.Access }
	connected := func(r *request.Request) { r.Operation = request.Connect }
	for name, c := range map[string]struct {
		text           string
		change         func(*request.Request)
		guard, nowhere bool
	}{
		"a session":                      {sessionText, none, true, true},
		"a session, deleted":             {sessionText, deleted, true, true},
		"a session, connected to":        {sessionText, connected, false, true},
		"a session, asked about":         {sessionText, accessed, false, false},
		"another's session":              {strings.Replace(sessionText, "sallyport.io/v1alpha1", "breakglass.example.com/v1", 1), none, false, false},
		"an exception":                   {exception, none, true, true},
		"an exception, deleted":          {exception, deleted, false, false},
		"an exception, connected to":     {exception, connected, false, true},
		"an exception, asked about":      {exception, accessed, false, false},
		"another's exception":            {strings.Replace(exception, "sallyport.io/v1alpha1", "example.com/v1", 1), none, false, false},
		"what grants no exceptions":      {"apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: x}\nspec: {policies: [p]}\n", none, false, false},
		"a module at a server":           {hostedText("AdmissionPolicy", ", policyServer: s"), none, true, false},
		"a server":                       {"apiVersion: sallyport.io/v1alpha1\nkind: PolicyServer\nmetadata: {name: s}\nspec: {image: x}\n", none, false, false},
		"something else":                 {pod, none, false, false},
		"something else, deleted":        {pod, deleted, false, false},
		"something else, asked about":    {pod, accessed, false, false},
		"something else, with no object": {pod, func(r *request.Request) { r.Object = nil }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, "mallory", c.text, "")
			c.change(r)
			g := sessionGuard(t, escalationText)
			if got := g.Concerns(r); got != c.guard {
				t.Errorf("concerns %v, want %v", got, c.guard)
			}
			rule := RuleWorkflow
			if strings.Contains(name, "session") {
				rule = RuleBreakglass
			}
			if strings.Contains(name, "module") {
				rule = RuleServer
			}
			if results := g.Validate(t.Context(), r); (len(results) > 0) != c.guard || c.guard && results[0].Rule != rule {
				t.Errorf("results %+v", results)
			}
			if patch, refused := g.Mutate(t.Context(), r); !c.guard && (patch != nil || refused != nil) {
				t.Errorf("patch %s, results %+v", patch, refused)
			}
			// Sessions are asked for, and exceptions written.
			what := map[string]string{RuleWorkflow: "read requests and answers, write it there", RuleBreakglass: "read escalations and sessions, ask for them there", RuleServer: "none, none"}[rule]
			for i, results := range [][]decision.Result{Unguarded(r), Elsewhere(r)} {
				says := strings.Split(what, ", ")[i]
				if got := len(results) == 1 && results[0].Blocks() && strings.Contains(results[0].Message, strings.TrimPrefix(says, "read ")); got != c.nowhere {
					t.Errorf("results %+v", results)
				}
			}
		})
	}
}

// TestOddRequestsForSessions are those that the API server never makes, and those of
// which something is missing or broken: none is let through, and each is told why.
func TestOddRequestsForSessions(t *testing.T) {
	pending := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T11:30:00Z"}`)
	began, ends := metav1.NewTime(noon.Add(-time.Minute)), metav1.NewTime(noon.Add(59*time.Minute))
	approved := pending.DeepCopy()
	approved.Status.State, approved.Status.ApprovedAt, approved.Status.ExpiresAt = v1alpha1.SessionApproved, &began, &ends
	approving := step(t, "dave", v1alpha1.SessionApproved, pending, nil)
	withdrawing := step(t, "carol", v1alpha1.SessionWithdrawn, pending, nil)
	nonsense := strings.Replace(escalationText, "maxValidFor: 1h", "maxValidFor: soon", 1)
	changed := func(r *request.Request, change func(*request.Request)) *request.Request {
		copied := *r
		change(&copied)
		return &copied
	}
	asking := func(text string) *request.Request { return asking(t, "carol", text) }
	bare := func(operation request.Operation) func(*request.Request) {
		return func(r *request.Request) {
			r.Operation, r.Kind, r.Object, r.OldObject = operation, r.Object.GVK, nil, nil
		}
	}
	// takingBack is what the command line writes that cannot read the escalation.
	takingBack := func(s *v1alpha1.BreakglassSession) *request.Request {
		compiled, errs := breakglass.CompileSession(s)
		status, err := breakglass.Apply(compiled, nil, breakglass.Step{To: v1alpha1.SessionWithdrawn, By: breakglass.Person{Name: "carol"}, Reason: "why"}, noon)
		if len(errs) > 0 || err != nil {
			t.Fatal(errs, err)
		}
		withdrawn := s.DeepCopy()
		withdrawn.Status = *status
		r := written(t, "carol", textOf(t, withdrawn), textOf(t, s))
		r.Subresource = "status"
		return r
	}
	unknown := textOf(t, pending)
	unknown = strings.Replace(unknown, `"state":"Pending"`, `"state":"Nonsense"`, 1)
	for name, c := range map[string]struct {
		escalation string
		r          *request.Request
		broken     bool
		status     decision.Status
		path, says string
	}{
		"nothing is asked for":                {escalationText, changed(asking(sessionText), bare(request.Create)), false, decision.Error, "", "holds no BreakglassSession"},
		"nothing is changed":                  {escalationText, changed(asking(sessionText), bare(request.Update)), false, decision.Error, "", "does not say what BreakglassSession s was"},
		"nothing is changed to something":     {escalationText, changed(asking(sessionText), func(r *request.Request) { r.Operation = request.Update }), false, decision.Error, "", "does not say what BreakglassSession s was"},
		"something is changed to nothing":     {escalationText, changed(written(t, "carol", sessionText, sessionText), func(r *request.Request) { r.Object = nil }), false, decision.Error, "", "does not say what BreakglassSession s was"},
		"a step from nothing":                 {escalationText, changed(approving, func(r *request.Request) { r.OldObject = nil }), false, decision.Error, "", "does not say what BreakglassSession s was"},
		"a step to nothing":                   {escalationText, changed(approving, func(r *request.Request) { r.Object = nil }), false, decision.Error, "", "does not say what BreakglassSession s was"},
		"a step beside the status":            {escalationText, changed(approving, func(r *request.Request) { r.Subresource = "" }), false, decision.Fail, "status", "written on its own"},
		"a scale":                             {escalationText, changed(approving, func(r *request.Request) { r.Subresource = "scale" }), false, decision.Fail, "", "no scale that could be written"},
		"a status that is made":               {escalationText, changed(approving, func(r *request.Request) { r.Operation = request.Create }), false, decision.Fail, "", "no status that could be written"},
		"a status that is deleted":            {escalationText, changed(approving, func(r *request.Request) { r.Operation = request.Delete }), false, decision.Fail, "", "no status that could be written"},
		"for no one, with no one to fill in":  {escalationText, asking(strings.Replace(sessionText, "user: carol, ", "", 1)), false, decision.Fail, "spec.user", "by the webhook /mutate"},
		"for an odd time":                     {escalationText, asking(strings.Replace(sessionText, "user:", "maxValidFor: soon, user:", 1)), false, decision.Fail, "spec.maxValidFor", "soon"},
		"by what cannot work":                 {nonsense, asking(sessionText), false, decision.Fail, "spec.escalationRef", "BreakglassEscalation debug cannot work"},
		"by what cannot be read":              {escalationText, asking(sessionText), true, decision.Error, "", "BreakglassEscalation debug cannot be read"},
		"a step by what cannot be read":       {escalationText, approving, true, decision.Error, "", "BreakglassEscalation debug cannot be read"},
		"approved by what cannot work":        {nonsense, approving, false, decision.Fail, "spec.escalationRef", "BreakglassEscalation debug cannot work"},
		"withdrawn from what cannot work":     {nonsense, withdrawing, false, decision.Pass, "", ""},
		"taken back from what cannot work":    {nonsense, takingBack(approved), false, decision.Pass, "", ""},
		"taken back from what is gone":        {"", takingBack(approved), false, decision.Pass, "", ""},
		"taken back by another":               {nonsense, changed(takingBack(approved), func(r *request.Request) { r.User.Name = "dave" }), false, decision.Fail, "status.state", "was asked for by carol"},
		"revoked from what cannot work":       {nonsense, step(t, "dave", v1alpha1.SessionRevoked, approved, nil), false, decision.Fail, "spec.escalationRef", "BreakglassEscalation debug cannot work"},
		"withdrawn from what cannot be read":  {escalationText, withdrawing, true, decision.Error, "", "cannot be read"},
		"a step from a state there is not":    {escalationText, written(t, "dave", textOf(t, approved), unknown), false, decision.Error, "", "BreakglassSession s cannot be read"},
		"the same status again":               {escalationText, written(t, "mallory", textOf(t, approved), textOf(t, approved)), false, decision.Pass, "", ""},
		"for which a limit cannot be checked": {escalationText, asking(sessionText), true, decision.Error, "", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "a step from a state") || strings.HasPrefix(name, "the same status") {
				c.r.Subresource = "status"
			}
			g := sessionGuard(t, c.escalation)
			if c.broken {
				g.Reader = interceptor.NewClient(g.Reader.(client.WithWatch), interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						return errors.New("etcd is away")
					},
				})
			}
			results := g.Validate(t.Context(), c.r)
			if len(results) != 1 || results[0].Status != c.status || !strings.Contains(results[0].Message, c.says) {
				t.Fatalf("results %+v", results)
			}
			path := ""
			if f := results[0].Findings; len(f) > 0 {
				path = f[0].Path
			}
			if path != c.path {
				t.Errorf("path %q, want %q", path, c.path)
			}
			patch, refused := g.Mutate(t.Context(), c.r)
			if c.r.Subresource == "status" && c.r.Operation == request.Update {
				if (len(refused) == 0) != (c.status == decision.Pass) || (patch != nil) != (c.status == decision.Pass && name != "the same status again") {
					t.Errorf("patch %s, refused %+v", patch, refused)
				}
			} else if refused != nil || patch != nil && c.r.Operation != request.Create {
				t.Errorf("patch %s, refused %+v", patch, refused)
			}
		})
	}
}

// TestSessionsThatCannotBeCounted asks for no session where it is not known how many
// there are.
func TestSessionsThatCannotBeCounted(t *testing.T) {
	g := sessionGuard(t, escalationText)
	g.Reader = interceptor.NewClient(g.Reader.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("etcd is away")
		},
	})
	results := g.Validate(t.Context(), asking(t, "carol", sessionText))
	if len(results) != 1 || results[0].Status != decision.Error || !results[0].FailClosed || !strings.Contains(results[0].Message, "the sessions that there are cannot be read") {
		t.Errorf("results %+v", results)
	}
}

// TestOwnSteps says what Sallyport may make of a session by itself.
func TestOwnSteps(t *testing.T) {
	const none, pending, approved, waiting, rejected = "", v1alpha1.SessionPending, v1alpha1.SessionApproved, v1alpha1.SessionWaiting, v1alpha1.SessionRejected
	timeout, expired, idle := v1alpha1.SessionApprovalTimeout, v1alpha1.SessionExpired, v1alpha1.SessionIdleExpired
	may := map[v1alpha1.SessionState][]v1alpha1.SessionState{
		none: {pending, timeout}, pending: {timeout}, waiting: {approved, expired, idle}, approved: {expired, idle}, rejected: {},
	}
	for from, steps := range may {
		for _, to := range append(breakglass.States(), none) {
			old := parse[v1alpha1.BreakglassSession](t, sessionText)
			old.Status.State = from
			changed := old.DeepCopy()
			changed.Status.State = to
			r := written(t, own, textOf(t, changed), textOf(t, old))
			r.Subresource = "status"
			ok := from == to
			for _, s := range steps {
				ok = ok || s == to
			}
			says := ""
			switch {
			case ok:
			case from == rejected:
				says = "which is final"
			default:
				says = "time alone does not make"
			}
			results := sessionGuard(t, escalationText).Validate(t.Context(), r)
			if len(results) != 1 || results[0].Blocks() == ok || !strings.Contains(results[0].Message, says) {
				t.Errorf("from %q to %q: %+v", from, to, results)
			}
		}
	}
}

// TestStepsAreComparedExactly holds what is written to what a step leads to, and times
// to no more than clocks differ by.
func TestStepsAreComparedExactly(t *testing.T) {
	want := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Approved, requestedAt: "2026-11-28T11:30:00Z", approvedAt: "2026-11-28T12:00:00Z", expiresAt: "2026-11-28T13:00:00Z", requestedBy: carol}`)
	for name, c := range map[string]struct {
		from, to string
		says     string
	}{
		"the same":            {"12:00:00", "12:00:00", ""},
		"a minute later":      {"12:00:00", "12:01:00", ""},
		"a minute earlier":    {"12:00:00", "11:59:00", ""},
		"more than that":      {"12:00:00", "12:01:01", "is not what this step leads to"},
		"more than that less": {"12:00:00", "11:58:59", "is not what this step leads to"},
		"none":                {`"approvedAt":"2026-11-28T12:00:00Z",`, "", "is not what this step leads to"},
		"someone else":        {`"requestedBy":"carol"`, `"requestedBy":"` + strings.Repeat("x", 600) + `"`, strings.Repeat("x", 511) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			text := textOf(t, want)
			if !strings.Contains(text, c.from) {
				t.Fatal(text)
			}
			got := parse[v1alpha1.BreakglassSession](t, strings.Replace(text, c.from, c.to, 1))
			err := sameStatus(&got.Status, &want.Status)
			said := ""
			if err != nil {
				said = err.(*refusal).value + " " + err.Error()
			}
			if (err == nil) != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("says %q", said)
			}
		})
	}
}

// TestSessionsAreFilledIn says what Mutate fills in, and that it does so only where
// someone asks for a session or takes a step.
func TestSessionsAreFilledIn(t *testing.T) {
	nameless := strings.Replace(sessionText, "user: carol, ", "", 1)
	status := func(r *request.Request) { r.Subresource = "status" }
	pending := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T11:30:00Z"}`)
	for name, c := range map[string]struct {
		r      *request.Request
		change func(*request.Request)
		want   string
	}{
		"asked for":            {asking(t, "carol", nameless), func(*request.Request) {}, `[{"op":"add","path":"/spec/user","value":"carol"}]`},
		"asked for with a uid": {asking(t, "carol", nameless), func(r *request.Request) { r.User.UID = "u-1" }, `[{"op":"add","path":"/spec/user","value":"carol"},{"op":"add","path":"/spec/userUID","value":"u-1"}]`},
		"nothing is missing":   {asking(t, "carol", sessionText), func(*request.Request) {}, ""},
		"updated":              {written(t, "carol", nameless, nameless), func(*request.Request) {}, ""},
		"a status is made":     {asking(t, "carol", nameless), status, ""},
		"with no object":       {asking(t, "carol", nameless), func(r *request.Request) { r.Kind, r.Object = r.Object.GVK, nil }, ""},
		"a step elsewhere":     {step(t, "dave", v1alpha1.SessionApproved, pending, nil), func(r *request.Request) { r.Subresource = "" }, ""},
		"a step of a creation": {step(t, "dave", v1alpha1.SessionApproved, pending, nil), func(r *request.Request) { r.Operation = request.Delete }, ""},
		"the same status":      {written(t, "mallory", textOf(t, pending), textOf(t, pending)), status, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(c.r)
			patch, refused := sessionGuard(t, escalationText).Mutate(t.Context(), c.r)
			if string(patch) != c.want || refused != nil {
				t.Errorf("patch %s, results %+v", patch, refused)
			}
		})
	}
}
