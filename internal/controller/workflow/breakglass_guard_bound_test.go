package workflow

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// TestSessionsOfAUID binds a session to the uid of whoever asks, where there is one, and
// to nothing that he writes himself.
func TestSessionsOfAUID(t *testing.T) {
	nameless := strings.Replace(sessionText, "user: carol, ", "", 1)
	with := func(uid string) string {
		return strings.Replace(sessionText, "user: carol,", "user: carol, userUID: "+uid+",", 1)
	}
	for _, c := range []struct {
		name, text, uid string
		filled          bool
		says            string
	}{
		{"filled in", nameless, "u-1", true, ""},
		{"filled in beside the name", sessionText, "u-1", true, ""},
		{"none is given", nameless, "", true, ""},
		{"one's own", with("u-1"), "u-1", false, ""},
		{"another's", with("u-2"), "u-1", true, `knows "carol" by the uid "u-1"`},
		{"one, where none is given", with("u-2"), "", true, "gives \"carol\" no uid"},
		{"none, and nobody fills it in", sessionText, "u-1", false, "by the webhook /mutate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := sessionGuard(t, escalationText)
			r := asking(t, "carol", c.text)
			r.User.UID = c.uid
			if !c.filled {
				results := g.Validate(t.Context(), r)
				if results[0].Blocks() != (c.says != "") || !strings.Contains(results[0].Message, c.says) {
					t.Errorf("%+v", results)
				}
				return
			}
			raw, results := admit(t, g, r)
			if results[0].Blocks() != (c.says != "") || !strings.Contains(results[0].Message, c.says) {
				t.Fatalf("%+v", results)
			}
			if c.says == "" {
				if spec := parse[v1alpha1.BreakglassSession](t, raw).Spec; spec.User != "carol" || spec.UserUID != c.uid {
					t.Errorf("filled in %+v", spec)
				}
			}
		})
	}
}

// TestAfterUseNeedsTheFrontDoor approves nothing that is to be done to the pods that are
// entered, where nobody sees which these are.
func TestAfterUseNeedsTheFrontDoor(t *testing.T) {
	pending := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T11:30:00Z"}`)
	evicts := escalationText + "  afterUse: {action: evict}\n"
	both, front, side := breakglass.Doors{Admission: true, Access: true}, breakglass.Doors{Admission: true}, breakglass.Doors{Access: true}
	unsaid := breakglass.Doors{}
	for _, c := range []struct {
		name, escalation string
		doors            breakglass.Doors
		to               v1alpha1.SessionState
		refused          bool
	}{
		{"both doors", evicts, both, "Approved", false},
		{"the front door", evicts, front, "Approved", false},
		{"the side door", evicts, side, "Approved", true},
		{"the front door, asked by whom nobody knows", evicts, breakglass.Doors{Admission: true, Uncounted: true}, "Approved", true},
		{"the same, and nothing is to be done", escalationText, breakglass.Doors{Admission: true, Uncounted: true}, "Approved", false},
		{"no door", evicts, breakglass.Doors{}, "Approved", true},
		{"nothing is to be done", escalationText, side, "Approved", false},
		{"rejected", evicts, side, "Rejected", false},
		{"nothing turns on doors", evicts, unsaid, "Approved", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := sessionGuard(t, c.escalation)
			asked := ""
			if c.name != "nothing turns on doors" {
				g.Doors = func(cluster string) breakglass.Doors { asked = cluster; return c.doors }
			}
			compiled, _ := breakglass.CompileSession(pending)
			e, _ := breakglass.CompileEscalation(parse[v1alpha1.BreakglassEscalation](t, c.escalation))
			status, err := breakglass.Apply(compiled, e, breakglass.Step{To: c.to, By: breakglass.Person{Name: "dave"}, Reason: "why"}, noon)
			if err != nil {
				t.Fatal(err)
			}
			changed := pending.DeepCopy()
			changed.Status = *status
			r := written(t, "dave", textOf(t, changed), textOf(t, pending))
			r.Subresource = "status"
			results := g.Validate(t.Context(), r)
			says := "spec.doors of its ClusterConfig"
			if c.doors.Uncounted {
				says = "asked by callers that show no credentials"
			}
			if results[0].Blocks() != c.refused || c.refused && (!strings.Contains(results[0].Message, says) || asked != "prod-eu") {
				t.Errorf("asked about %q: %+v", asked, results)
			}
		})
	}
}
