package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestPrivileged(t *testing.T) {
	t.Parallel()
	testControl(t, "restricted", "privileged", "Privileged Containers", []controlTest{
		{name: "no container", pod: `{spec: {}}`},
		{name: "not set and false", pod: `{spec: {containers: [{name: a, securityContext: {}}, {name: b, securityContext: {privileged: false}}]}}`},
		{
			name: "each kind of container, two of one name",
			pod: `
spec:
  initContainers: [{name: a, restartPolicy: Always, securityContext: {privileged: true}}]
  containers: [{name: a, securityContext: {privileged: true}}]
  ephemeralContainers: [{name: debug}, {name: debug2, securityContext: {privileged: true}}]
`,
			want: []decision.Finding{
				{Path: "spec.initContainers[0].securityContext.privileged", Value: "true", Detail: "must be false or not set"},
				{Path: "spec.containers[0].securityContext.privileged", Value: "true", Detail: "must be false or not set"},
				{Path: "spec.ephemeralContainers[1].securityContext.privileged", Value: "true", Detail: "must be false or not set"},
			},
		},
	})
}
