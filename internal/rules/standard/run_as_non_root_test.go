package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestRunAsNonRoot(t *testing.T) {
	t.Parallel()
	const (
		inUserNS = `{spec: {hostUsers: false, containers: [{name: a}]}}`
		either   = "must be true, here or for the pod"
	)
	missing := []decision.Finding{{Path: "spec.containers[0].securityContext.runAsNonRoot", Detail: either}}
	testControl(t, "restricted", "runAsNonRoot", "Running as Non-root", []controlTest{
		{name: "the pod's", pod: `{spec: {securityContext: {runAsNonRoot: true}, containers: [{name: a}, {name: b, securityContext: {}}]}}`},
		{name: "every container's", pod: `{spec: {containers: [{name: a, securityContext: {runAsNonRoot: true}}]}}`},
		{name: "none", version: "v1.0", pod: `{spec: {containers: [{name: a}]}}`, want: missing},
		{name: "windows is not excused", pod: `{spec: {os: {name: windows}, containers: [{name: a}]}}`, want: missing},
		{name: "user namespace", version: "v1.35", pod: inUserNS},
		{name: "user namespace before it excused", version: "v1.34", pod: inUserNS, want: missing},
		{name: "a container against its pod", pod: `{spec: {securityContext: {runAsNonRoot: true}, initContainers: [{name: i, securityContext: {runAsNonRoot: false}}]}}`, want: []decision.Finding{
			{Path: "spec.initContainers[0].securityContext.runAsNonRoot", Value: "false", Detail: "must be true"},
		}},
		{
			name: "what the message leaves out is found as well",
			pod:  `{spec: {securityContext: {runAsNonRoot: false}, containers: [{name: a}, {name: b, securityContext: {runAsNonRoot: true}}]}}`,
			want: []decision.Finding{
				{Path: "spec.securityContext.runAsNonRoot", Value: "false", Detail: "must be true"},
				{Path: "spec.containers[0].securityContext.runAsNonRoot", Detail: either},
			},
		},
	})
}
