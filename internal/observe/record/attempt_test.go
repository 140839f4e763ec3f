package record

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door/access"
	"github.com/sallyport-io/sallyport/internal/door/admission"
	"github.com/sallyport-io/sallyport/internal/door/doortest"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

var start = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

// step is one stage of a test: G, S or C, in lower case where it is refused.
func observe(a *attempts, user string, step byte, at time.Time) (id string, isNew bool) {
	req := request.Request{
		Door: request.Access, User: request.User{Name: user},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: "exec", Namespace: "shop", Name: "web",
	}
	switch step {
	case 'G', 'g':
		req.Verb = "get"
	case 'S', 's':
		req.Verb = "create"
	case 'C', 'c':
		req.Door, req.Operation = request.Admission, request.Connect
	}
	verdict, refuses := decision.Allow, step >= 'a'
	if refuses {
		verdict = decision.Deny
	}
	return a.observe(&req, string(verdict), refuses, at)
}

func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps string
		// want has a letter a step: which attempt it is part of, in upper case
		// where it is recorded.
		want string
	}{
		{"WebSocket", "GCS", "Aaa"},
		{"SPDY", "SC", "Aa"},
		{"two in turn by WebSocket", "GCSGCS", "AaaBbb"},
		{"two in turn by SPDY", "SCSC", "AaBb"},
		{"two at once", "GGCCSS", "ABabab"},
		{"refused at CONNECT, again by SPDY", "GcSc", "AAaa"},
		{"refused by us as an authorizer, again by SPDY", "gs", "Aa"},
		{"refused by RBAC as get, again by SPDY", "GSC", "Aaa"},
		{"refused by RBAC as create, again by SPDY", "GCSS", "Aaaa"},
		{"SPDY refused twice is two attempts", "ss", "AB"},
		{"who skips authorizers, refused, again by SPDY", "cc", "Aa"},
		{"who skips authorizers, twice", "CC", "AB"},
		{"SPDY behind a WebSocket", "GCSSC", "AaaaB"},
		{"allowed, then refused", "Gc", "AA"},
		{"refused, then again", "scsc", "AaBb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAttempts()
			names := map[string]byte{}
			got := ""
			for i := range len(tt.steps) {
				id, isNew := observe(a, "alice", tt.steps[i], start.Add(time.Duration(i)*time.Millisecond))
				name, ok := names[id]
				if !ok {
					name = byte('a' + len(names))
					names[id] = name
				}
				if isNew {
					name -= 'a' - 'A'
				}
				got += string(name)
			}
			if got != tt.want {
				t.Errorf("steps %s: got %s, want %s", tt.steps, got, tt.want)
			}
		})
	}
}

func TestAttemptsEnd(t *testing.T) {
	a := newAttempts()
	first, _ := observe(a, "alice", 'g', start)
	if second, isNew := observe(a, "alice", 's', start.Add(attemptWindow+time.Millisecond)); second == first || !isNew {
		t.Errorf("a retry after %s is part of the attempt before", attemptWindow)
	}
	if third, isNew := observe(a, "bob", 's', start.Add(attemptWindow+time.Millisecond)); third == first || !isNew {
		t.Error("another user's request is part of the attempt")
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	a := newAttempts()
	for i := range 3 * maxTracked {
		observe(a, fmt.Sprint("user", i), 'G', start)
	}
	for range 1000 {
		observe(a, "alice", 'G', start)
	}
	if a.order.Len() > maxTracked || len(a.byKey) != a.order.Len() {
		t.Errorf("%d users are held, by %d keys", a.order.Len(), len(a.byKey))
	}
	for e := a.order.Front(); e != nil; e = e.Next() {
		if n := len(e.Value.(*tracked).open); n > maxParallel {
			t.Errorf("%d attempts of one user are held", n)
		}
	}
	observe(a, "late", 'G', start.Add(2*attemptWindow))
	if a.order.Len() != 1 {
		t.Errorf("%d users are held after the window", a.order.Len())
	}
}

// none decodes nothing: what an attempt is does not turn on the object.
type none struct{}

func (none) Decode(gvk schema.GroupVersionKind, raw []byte) (*pod.Object, error) {
	return &pod.Object{GVK: gvk, Raw: raw, Meta: new(metav1.ObjectMeta)}, nil
}

func (n none) DecodeNext(gvk schema.GroupVersionKind, d *apijson.Decoder) (*pod.Object, error) {
	raw, err := d.Raw()
	if err != nil {
		return nil, err
	}
	return n.Decode(gvk, raw)
}

// TestRecordedAttempts runs the recorded scenarios: how many attempts each is,
// with everything allowed, and with every admission request refused.
func TestRecordedAttempts(t *testing.T) {
	type count struct{ allowed, refused int }
	want := map[string]count{
		"02-exec-ws-allowed":          {1, 1},
		"03-exec-spdy-allowed":        {1, 1},
		"08-attach-ws":                {1, 1},
		"11-portforward-spdy":         {1, 1},
		"12-portforward-svc":          {1, 1},
		"13-debug-ephemeral":          {1, 1},
		"14-debug-ephemeral-it":       {2, 2},
		"17-cp-to":                    {2, 2},
		"18-cp-from":                  {1, 1},
		"19-logs":                     {1, 1},
		"22-pods-proxy-get":           {1, 1},
		"25-nodes-proxy-get":          {1, 1},
		"41-exec-impersonate":         {1, 1},
		"50-exec-admission-deny":      {2, 1},
		"51-exec-spdy-admission-deny": {1, 1},
		"62-exec-rbac-create-only":    {1, 1},
		"63-exec-rbac-get-only":       {1, 1},
		"80-exec-system-masters":      {1, 1},
	}
	for scenario, want := range want {
		t.Run(scenario, func(t *testing.T) {
			if got := attemptsOf(t, scenario, false); got != want.allowed {
				t.Errorf("all allowed: %d attempts, want %d", got, want.allowed)
			}
			if got := attemptsOf(t, scenario, true); got != want.refused {
				t.Errorf("refused at admission: %d attempts, want %d", got, want.refused)
			}
		})
	}
}

func attemptsOf(t *testing.T, scenario string, refuse bool) int {
	a := newAttempts()
	ids := map[string]bool{}
	now := start
	for _, review := range doortest.Recorded() {
		if review.Scenario != scenario {
			continue
		}
		var req *request.Request
		var err error
		if review.Admission {
			req, err = admission.Parse(review.Body, none{})
		} else {
			req, err = access.Parse(review.Body)
		}
		if err != nil {
			t.Fatalf("%s: %v", review.File, err)
		}
		verdict, refuses := decision.Allow, refuse && review.Admission
		if refuses {
			verdict = decision.Deny
		}
		now = now.Add(20 * time.Millisecond)
		if id, _ := a.observe(req, string(verdict), refuses, now); id != "" {
			ids[id] = true
		}
	}
	return len(ids)
}

func BenchmarkAttempts(b *testing.B) {
	a := newAttempts()
	now := start
	for b.Loop() {
		now = now.Add(time.Millisecond)
		observe(a, "alice", 'G', now)
		observe(a, "alice", 'C', now)
		observe(a, "alice", 'S', now)
	}
}

// TestEachPolicyIsHeardOf in one attempt that is let in, as the installation observes or
// policies do: a refusal by the first would have ended it.
func TestEachPolicyIsHeardOf(t *testing.T) {
	by := func(policy string) *decision.Decision {
		d := decision.Of([]decision.Result{{Kind: "DenyPolicy", Policy: policy, Status: decision.Fail, Action: decision.Enforce}})
		observed := d.Observed(func(*decision.Result) bool { return false })
		return &observed
	}
	audited := func(action decision.Action, policies ...string) *decision.Decision {
		var results []decision.Result
		for _, policy := range policies {
			results = append(results, decision.Result{Kind: "DenyPolicy", Policy: policy, Status: decision.Fail, Action: action, WouldDeny: true})
		}
		d := decision.Of(results)
		return &d
	}
	denied := decision.Of([]decision.Result{{Kind: "DenyPolicy", Policy: "b", Status: decision.Fail, Action: decision.Enforce}})
	for name, c := range map[string]struct {
		first, second *decision.Decision
		isNew         bool
	}{
		"the same policy":           {by("a"), by("a"), false},
		"another policy":            {by("a"), by("b"), true},
		"refusals by two of them":   {&denied, &denied, false},
		"one that is refused after": {by("b"), &denied, true},

		"a policy that audits, after nothing was found": {audited(decision.ActionAudit), audited(decision.ActionAudit, "a"), true},
		"the same policy that audits":                   {audited(decision.ActionAudit, "a"), audited(decision.ActionAudit, "a"), false},
		"another one that audits":                       {audited(decision.ActionAudit, "a"), audited(decision.ActionAudit, "b"), true},
		"another one that warns":                        {audited(decision.ActionWarn, "a"), audited(decision.ActionWarn, "a", "b"), true},
		"one that audits, beside a refusal": {&denied, func() *decision.Decision {
			d := decision.Of(append(audited(decision.ActionAudit, "a").Results, denied.Results...))
			return &d
		}(), false},
	} {
		a := newAttempts()
		req := execRequest()
		req.Door, req.Verb = request.Access, "create"
		first, _ := a.observe(req, heard(c.first), c.first.Refuses(), start)
		req = execRequest()
		id, isNew := a.observe(req, heard(c.second), c.second.Refuses(), start)
		if id != first || isNew != c.isNew {
			t.Errorf("%s: attempt %s after %s, new is %v", name, id, first, isNew)
		}
	}
}
