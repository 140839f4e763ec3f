package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestSeccompRestricted(t *testing.T) {
	t.Parallel()
	const unset = `{spec: {containers: [{name: a}]}}`
	const windows = `{spec: {os: {name: windows}, containers: [{name: a}]}}`
	const (
		required = "must be RuntimeDefault or Localhost"
		either   = "must be RuntimeDefault or Localhost, here or for the pod"
	)
	missing := []decision.Finding{{Path: "spec.containers[0].securityContext.seccompProfile.type", Detail: either}}
	testControl(t, "restricted", "seccompProfile_restricted", "Seccomp", []controlTest{
		{name: "the pod's", pod: `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}, initContainers: [{name: i}], containers: [{name: a}]}}`},
		{name: "every container's", pod: `{spec: {containers: [{name: a, securityContext: {seccompProfile: {type: Localhost}}}]}}`},
		{name: "none", pod: unset, want: missing},
		{name: "none before the check", version: "v1.18", pod: unset},
		{name: "windows", version: "v1.25", pod: windows},
		{name: "windows before it was excused", version: "v1.24", pod: windows, want: missing},
		{
			name: "what the message leaves out is found as well",
			pod:  `{spec: {securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: a}, {name: b, securityContext: {seccompProfile: {type: RuntimeDefault}}}, {name: c, securityContext: {seccompProfile: {type: Unconfined}}}]}}`,
			want: []decision.Finding{
				{Path: "spec.securityContext.seccompProfile.type", Value: "Unconfined", Detail: required},
				{Path: "spec.containers[0].securityContext.seccompProfile.type", Detail: either},
				{Path: "spec.containers[2].securityContext.seccompProfile.type", Value: "Unconfined", Detail: required},
			},
		},
	})
	testControl(t, "restricted", "seccompProfile_baseline", "Seccomp", []controlTest{
		{name: "the baseline check is replaced", pod: `{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`},
	})
}
