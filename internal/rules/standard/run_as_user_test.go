package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestRunAsUser(t *testing.T) {
	t.Parallel()
	const root = `{spec: {securityContext: {runAsUser: 0}, containers: [{name: a, securityContext: {runAsUser: 0}}]}}`
	const inUserNS = `{spec: {hostUsers: false, containers: [{name: a, securityContext: {runAsUser: 0}}]}}`
	testControl(t, "restricted", "runAsUser", "Running as Non-root user", []controlTest{
		{name: "others", pod: `{spec: {securityContext: {runAsUser: 1}, containers: [{name: a, securityContext: {runAsUser: 65534}}, {name: b}]}}`},
		{name: "root", version: "v1.23", pod: root, want: []decision.Finding{
			{Path: "spec.securityContext.runAsUser", Value: "0", Detail: "must not be 0"},
			{Path: "spec.containers[0].securityContext.runAsUser", Value: "0", Detail: "must not be 0"},
		}},
		{name: "before the check", version: "v1.22", pod: root},
		{name: "user namespace", version: "v1.35", pod: inUserNS},
		{name: "user namespace before it excused", version: "v1.34", pod: inUserNS, want: []decision.Finding{
			{Path: "spec.containers[0].securityContext.runAsUser", Value: "0", Detail: "must not be 0"},
		}},
	})
}
