package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestHostProcess(t *testing.T) {
	t.Parallel()
	testControl(t, "baseline", "windowsHostProcess", "HostProcess", []controlTest{
		{name: "not set", pod: `{spec: {securityContext: {windowsOptions: {}}, containers: [{name: a}]}}`},
		{name: "false", pod: `{spec: {securityContext: {windowsOptions: {hostProcess: false}}, containers: [{name: a, securityContext: {windowsOptions: {hostProcess: false}}}]}}`},
		{
			name: "true for the pod and in each kind of container",
			pod: `
spec:
  os: {name: windows}
  securityContext: {windowsOptions: {hostProcess: true}}
  initContainers: [{name: i, securityContext: {windowsOptions: {hostProcess: true}}}]
  containers: [{name: a}, {name: b, securityContext: {windowsOptions: {hostProcess: true}}}]
  ephemeralContainers: [{name: e, securityContext: {windowsOptions: {hostProcess: true}}}]
`,
			want: []decision.Finding{
				{Path: "spec.securityContext.windowsOptions.hostProcess", Value: "true", Detail: "must be false or not set"},
				{Path: "spec.initContainers[0].securityContext.windowsOptions.hostProcess", Value: "true", Detail: "must be false or not set"},
				{Path: "spec.containers[1].securityContext.windowsOptions.hostProcess", Value: "true", Detail: "must be false or not set"},
				{Path: "spec.ephemeralContainers[0].securityContext.windowsOptions.hostProcess", Value: "true", Detail: "must be false or not set"},
			},
		},
	})
}
