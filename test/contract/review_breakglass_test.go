package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// groupRights are those of the group that the escalation gives, in one namespace.
const groupRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ops, namespace: shop}
rules: [{apiGroups: [""], resources: [secrets, pods/exec], verbs: [get, create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ops, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ops}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: cluster-ops}]
`

// TestSessionGrants answers recorded reviews: allowed where the group of an active
// session may do what is asked and no policy denies it, and no opinion otherwise.
func TestSessionGrants(t *testing.T) {
	t.Parallel()
	breakglass := escalation("emergency-access", "{enabled: false}", "escalatedGroup: cluster-ops")
	asked := func(user, group, attributes string) string {
		return fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":%q,"groups":[%q],%s}}`, user, group, attributes)
	}
	const secret = `"resourceAttributes":{"verb":"get","version":"v1","resource":"secrets","namespace":"shop","name":"s"}`
	tests := map[string]struct {
		session session
		user    string
		group   string
		asks    string
		allowed bool
		denied  bool
	}{
		"granted":                          {session{}, "alice", "on-call", secret, true, false},
		"of somebody else":                 {session{}, "dave", "on-call", secret, false, false},
		"of another cluster":               {session{cluster: "prod-us"}, "alice", "on-call", secret, false, false},
		"expired":                          {session{end: -time.Second}, "alice", "on-call", secret, false, false},
		"pending":                          {session{state: "Pending"}, "alice", "on-call", secret, false, false},
		"another group when approved":      {session{terms: ", terms: {escalatedGroup: others}"}, "alice", "on-call", secret, false, false},
		"the same group when approved":     {session{terms: ", terms: {escalatedGroup: cluster-ops}"}, "alice", "on-call", secret, true, false},
		"another namespace":                {session{}, "alice", "on-call", strings.Replace(secret, "shop", "bank", 1), false, false},
		"another verb":                     {session{}, "alice", "on-call", strings.Replace(secret, "get", "delete", 1), false, false},
		"a path":                           {session{}, "alice", "on-call", `"nonResourceAttributes":{"path":"/metrics","verb":"get"}`, false, false},
		"above all authorization":          {session{}, "alice", "system:masters", secret, false, false},
		"a policy denies what is granted":  {session{}, "alice", "on-call", `"resourceAttributes":{"verb":"create","version":"v1","resource":"pods","subresource":"exec","namespace":"shop","name":"risky"}`, false, true},
		"no policy denies what is granted": {session{}, "alice", "on-call", `"resourceAttributes":{"verb":"create","version":"v1","resource":"pods","subresource":"exec","namespace":"shop","name":"safe"}`, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": denyPolicy("risk", riskyForSessions), "breakglass.yaml": breakglass + "---\n" + tt.session.String(),
				"objects.yaml": groupRights + "---\n" + documents(t, newPod("shop", "safe"), newPod("shop", "risky", hostNetwork)),
			})
			out := runWithInput(t, asked(tt.user, tt.group, tt.asks), "review", "-p", dir, "--cluster", "prod-eu", "-")
			var answer struct {
				Status struct {
					Allowed, Denied bool
					Reason          string
				}
			}
			if err := json.Unmarshal([]byte(out.stdout), &answer); err != nil {
				t.Fatalf("%v\n%s", err, out.all())
			}
			s := answer.Status
			if s.Allowed != tt.allowed || s.Denied != tt.denied {
				t.Errorf("allowed %v, denied %v, want %v, %v: %s", s.Allowed, s.Denied, tt.allowed, tt.denied, out.all())
			}
			if tt.allowed {
				wantContains(t, s.Reason, "group cluster-ops by BreakglassSession s", "escalation emergency-access", "approved by bob")
			}
		})
	}
}
