package standard

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestCapabilitiesBaseline(t *testing.T) {
	t.Parallel()
	var names []string
	for _, name := range defaultCapabilities {
		names = append(names, string(name))
	}
	all := strings.Join(names, ", ")
	detail := "is not among the capabilities that may be added: " + all
	testControl(t, "baseline", "capabilities_baseline", "Capabilities", []controlTest{
		{name: "the default set", pod: `{spec: {containers: [{name: a, securityContext: {capabilities: {add: [` + all + `]}}}]}}`},
		{name: "dropping is free", pod: `{spec: {containers: [{name: a, securityContext: {capabilities: {drop: [SYS_ADMIN]}}}]}}`},
		{
			name: "names count as they are written",
			pod:  `{spec: {containers: [{name: a, securityContext: {capabilities: {add: [CHOWN, CAP_CHOWN, chown, ALL]}}}], ephemeralContainers: [{name: e, securityContext: {capabilities: {add: [SYS_PTRACE]}}}]}}`,
			want: []decision.Finding{
				{Path: "spec.containers[0].securityContext.capabilities.add[1]", Value: "CAP_CHOWN", Detail: detail},
				{Path: "spec.containers[0].securityContext.capabilities.add[2]", Value: "chown", Detail: detail},
				{Path: "spec.containers[0].securityContext.capabilities.add[3]", Value: "ALL", Detail: detail},
				{Path: "spec.ephemeralContainers[0].securityContext.capabilities.add[0]", Value: "SYS_PTRACE", Detail: detail},
			},
		},
		{
			name: "windows is not excused", pod: `{spec: {os: {name: windows}, containers: [{name: a, securityContext: {capabilities: {add: [NET_RAW]}}}]}}`,
			want: []decision.Finding{{Path: "spec.containers[0].securityContext.capabilities.add[0]", Value: "NET_RAW", Detail: detail}},
		},
	})
}
