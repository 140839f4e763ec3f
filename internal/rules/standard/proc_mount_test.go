package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestProcMount(t *testing.T) {
	t.Parallel()
	const (
		unmasked = `{spec: {containers: [{name: a, securityContext: {procMount: Unmasked}}]}}`
		inUserNS = `{spec: {hostUsers: false, containers: [{name: a, securityContext: {procMount: Unmasked}}]}}`
		hostUser = `{spec: {hostUsers: true, ephemeralContainers: [{name: e, securityContext: {procMount: Unmasked}}]}}`
	)
	bad := []decision.Finding{{Path: "spec.containers[0].securityContext.procMount", Value: "Unmasked", Detail: "must be Default or not set"}}
	testControl(t, "baseline", "procMount", "/proc Mount Type", []controlTest{
		{name: "default", pod: `{spec: {containers: [{name: a, securityContext: {procMount: Default}}, {name: b}]}}`},
		{name: "unmasked", pod: unmasked, want: bad},
		{name: "user namespace", pod: inUserNS},
		{name: "user namespace before it excused", version: "v1.34", pod: inUserNS, want: bad},
		{name: "the node's users", pod: hostUser, want: []decision.Finding{
			{Path: "spec.ephemeralContainers[0].securityContext.procMount", Value: "Unmasked", Detail: "must be Default or not set"},
		}},
		{name: "empty", pod: `{spec: {containers: [{name: a, securityContext: {procMount: ""}}]}}`, want: []decision.Finding{
			{Path: "spec.containers[0].securityContext.procMount", Detail: "must be Default or not set"},
		}},
	})
	testControl(t, "restricted", "procMount_restricted", "/proc Mount Type", []controlTest{
		{name: "restricted: user namespace", pod: inUserNS, want: bad},
		{name: "restricted: before there was such a check", version: "v1.34", pod: inUserNS},
	})
	testControl(t, "restricted", "procMount", "/proc Mount Type", []controlTest{
		{name: "restricted: the baseline check is replaced", pod: unmasked},
		{name: "restricted: by which it was judged before", version: "v1.34", pod: unmasked, want: bad},
	})
}
