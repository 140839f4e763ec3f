package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestPrivilegeEscalation(t *testing.T) {
	t.Parallel()
	const windows = `{spec: {os: {name: windows}, containers: [{name: a}]}}`
	missing := []decision.Finding{{Path: "spec.containers[0].securityContext.allowPrivilegeEscalation", Detail: "must be false"}}
	testControl(t, "restricted", "allowPrivilegeEscalation", "Privilege Escalation", []controlTest{
		{name: "false", pod: `{spec: {containers: [{name: a, securityContext: {allowPrivilegeEscalation: false}}]}}`},
		{name: "before the check", version: "v1.7", pod: `{spec: {containers: [{name: a}]}}`},
		{name: "not set", version: "v1.8", pod: `{spec: {containers: [{name: a}]}}`, want: missing},
		{name: "windows", version: "v1.25", pod: windows},
		{name: "windows before it was excused", version: "v1.24", pod: windows, want: missing},
		{name: "a user namespace excuses nothing", pod: `{spec: {hostUsers: false, containers: [{name: a, securityContext: {}}]}}`, want: missing},
		{name: "true", pod: `{spec: {ephemeralContainers: [{name: e, securityContext: {allowPrivilegeEscalation: true}}]}}`, want: []decision.Finding{
			{Path: "spec.ephemeralContainers[0].securityContext.allowPrivilegeEscalation", Value: "true", Detail: "must be false"},
		}},
	})
}
