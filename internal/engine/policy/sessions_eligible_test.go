package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestWhoMayUseASession asks at each use, at both doors, whether somebody may still have
// the session.
func TestWhoMayUseASession(t *testing.T) {
	plain := escalation("emergency", "{enabled: true, maxAllowedScore: 100}")
	byName := session("s", "emergency", "")
	byUID := strings.Replace(byName, "user: alice,", "user: alice, userUID: u-1,", 1)
	ahead := strings.Replace(byName, "requestReason: incident", "requestReason: incident, scheduledStartTime: '2020-01-01T00:00:00Z'", 1)
	state := clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil))
	tests := []struct {
		name, escalation, session string
		user                      request.User
		says                      string
	}{
		{"his own", plain, byName, request.User{Groups: []string{"developers"}}, ""},
		{"among other groups", plain, byName, request.User{Groups: []string{"system:authenticated", "developers"}}, ""},
		{"with a uid, where none was known", plain, byName, request.User{UID: "u-9", Groups: []string{"developers"}}, ""},
		{"out of the group", plain, byName, request.User{Groups: []string{"system:authenticated"}}, "alice is in none of the groups that may ask for BreakglassEscalation emergency"},
		{"scheduled long ago, and out of the group since", plain, ahead, request.User{Groups: []string{"others"}}, "is in none of the groups"},
		{"the escalation is for others now", strings.Replace(plain, "[developers]", "[seniors]", 1), byName, request.User{Groups: []string{"developers"}}, "may ask for BreakglassEscalation emergency: seniors"},
		{"the escalation is for another cluster now", strings.Replace(plain, "prod-*", "dev", 1), byName, request.User{Groups: []string{"developers"}}, "is too risky"},
		{"the uid that it was asked for with", plain, byUID, request.User{UID: "u-1", Groups: []string{"developers"}}, ""},
		{"another uid", plain, byUID, request.User{UID: "u-2", Groups: []string{"developers"}}, "by another uid"},
		{"no uid", plain, byUID, request.User{Groups: []string{"developers"}}, "gives none now"},
		{"the uid, and out of the group", plain, byUID, request.User{UID: "u-1"}, "is in none of the groups"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, riskyPolicy, tt.escalation, tt.session)
			for _, r := range []*request.Request{exec(state, "shop", "web"), connecting(state, "exec", "shop", "web")} {
				tt.user.Name = "alice"
				r.User = tt.user
				d := set.Decide(t.Context(), r)
				result := only(t, d)
				if d.Refuses() != (tt.says != "") || tt.says != "is too risky" && !strings.Contains(result.Message, tt.says) {
					t.Errorf("%s: %s: %s", r.Door, result.Status, result.Message)
				}
				// What a group would give is told in the same words.
				safe := exec(clusterOf(t, podNamed("shop", "safe", nil), namespace("shop", nil)), "shop", "safe")
				safe.User = tt.user
				if said := set.Decide(t.Context(), safe).NotGranted; tt.says != "is too risky" && !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
					t.Errorf("not granted: %q", said)
				}
				for name, change := range map[string]func(*request.Request){
					"at the front door":       func(r *request.Request) { *r = *connecting(r.Cluster, "exec", "shop", "safe") },
					"above all authorization": func(r *request.Request) { r.User.Groups = []string{"system:masters"} },
				} {
					other := *safe
					change(&other)
					if said := set.Decide(t.Context(), &other).NotGranted; said != "" {
						t.Errorf("not granted %s: %q", name, said)
					}
				}
				if tt.user.UID != "" && strings.Contains(result.Message, "u-1") {
					t.Errorf("the uid is told: %s", result.Message)
				}
			}
		})
	}
}

// TestSessionForAnUnknownNamespace says that it is not known whether a session is for the
// namespace, and neither lets in by it nor denies as if there were none.
func TestSessionForAnUnknownNamespace(t *testing.T) {
	scoped := escalation("emergency", "{enabled: true, maxAllowedScore: 100, namespaceScope: {selectorTerms: [{matchLabels: {team: shop}}]}}")
	set := setOf(t, riskyPolicy, scoped, session("s", "emergency", ""))
	d := set.Decide(t.Context(), exec(clusterOf(t, podNamed("shop", "web", privileged)), "shop", "web"))
	result := only(t, d)
	if !d.Refuses() || result.Status != decision.Error || !strings.Contains(result.Message, "namespace shop is not there") {
		t.Errorf("%s: %s", result.Status, result.Message)
	}
}
