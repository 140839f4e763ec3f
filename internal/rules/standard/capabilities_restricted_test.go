package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestCapabilitiesRestricted(t *testing.T) {
	t.Parallel()
	missing := decision.Finding{Path: "spec.containers[0].securityContext.capabilities.drop", Detail: `must include "ALL"`}
	testControl(t, "restricted", "capabilities_restricted", "Capabilities", []controlTest{
		{name: "dropped, one added back", pod: `{spec: {containers: [{name: a, securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}}]}}`},
		{name: "nothing set", pod: `{spec: {containers: [{name: a}]}}`, want: []decision.Finding{missing}},
		{name: "empty list", pod: `{spec: {containers: [{name: a, securityContext: {capabilities: {drop: []}}}]}}`, want: []decision.Finding{missing}},
		{name: "before the check", version: "v1.21", pod: `{spec: {containers: [{name: a}]}}`},
		{name: "windows before it was excused", version: "v1.24", pod: `{spec: {os: {name: windows}, containers: [{name: a}]}}`, want: []decision.Finding{missing}},
		{name: "windows", version: "v1.25", pod: `{spec: {os: {name: windows}, containers: [{name: a}]}}`},
		{name: "windows in another case", pod: `{spec: {os: {name: Windows}, containers: [{name: a}]}}`, want: []decision.Finding{missing}},
		{
			name: "other drops, forbidden adds",
			pod:  `{spec: {initContainers: [{name: i, securityContext: {capabilities: {drop: [all, NET_RAW], add: [CHOWN, NET_BIND_SERVICE]}}}]}}`,
			want: []decision.Finding{
				{Path: "spec.initContainers[0].securityContext.capabilities.drop", Value: `["all","NET_RAW"]`, Detail: `must include "ALL"`},
				{Path: "spec.initContainers[0].securityContext.capabilities.add[0]", Value: "CHOWN", Detail: "is not NET_BIND_SERVICE, the one capability that may be added"},
			},
		},
	})
}
