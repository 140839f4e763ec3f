package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestHostPorts(t *testing.T) {
	t.Parallel()
	testControl(t, "baseline", "hostPorts", "Host Ports", []controlTest{
		{name: "not set and 0", pod: `{spec: {containers: [{name: a, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 0}]}]}}`},
		{
			name: "each kind of container",
			pod: `
spec:
  initContainers: [{name: i, ports: [{containerPort: 1, hostPort: 1}]}]
  containers: [{name: a, ports: [{containerPort: 80}, {containerPort: 80, hostPort: 8080}]}]
  ephemeralContainers: [{name: e, ports: [{containerPort: 1, hostPort: -1}]}]
`,
			want: []decision.Finding{
				{Path: "spec.initContainers[0].ports[0].hostPort", Value: "1", Detail: "must be 0 or not set"},
				{Path: "spec.containers[0].ports[1].hostPort", Value: "8080", Detail: "must be 0 or not set"},
				{Path: "spec.ephemeralContainers[0].ports[0].hostPort", Value: "-1", Detail: "must be 0 or not set"},
			},
		},
	})
}
