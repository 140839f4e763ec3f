package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestSELinux(t *testing.T) {
	t.Parallel()
	const engine = `{spec: {containers: [{name: a, securityContext: {seLinuxOptions: {type: container_engine_t}}}]}}`
	testControl(t, "baseline", "seLinuxOptions", "SELinux", []controlTest{
		{name: "allowed", version: "v1.0", pod: `
spec:
  securityContext: {seLinuxOptions: {type: container_t, level: "s0:c1"}}
  containers: [{name: a, securityContext: {seLinuxOptions: {type: container_init_t}}}, {name: b, securityContext: {seLinuxOptions: {type: container_kvm_t}}}, {name: c, securityContext: {seLinuxOptions: {}}}]
`},
		{name: "engine type", version: "v1.31", pod: engine},
		{name: "engine type before it was allowed", version: "v1.30", pod: engine, want: []decision.Finding{
			{Path: "spec.containers[0].securityContext.seLinuxOptions.type", Value: "container_engine_t", Detail: "must be container_t, container_init_t, container_kvm_t or not set"},
		}},
		{name: "every option, pod and container", pod: `
spec:
  securityContext: {seLinuxOptions: {user: system_u, role: system_r, type: spc_t, level: s0}}
  initContainers: [{name: i, securityContext: {seLinuxOptions: {role: object_r}}}]
`, want: []decision.Finding{
			{Path: "spec.securityContext.seLinuxOptions.type", Value: "spc_t", Detail: "must be container_t, container_init_t, container_kvm_t, container_engine_t or not set"},
			{Path: "spec.securityContext.seLinuxOptions.user", Value: "system_u", Detail: "must not be set"},
			{Path: "spec.securityContext.seLinuxOptions.role", Value: "system_r", Detail: "must not be set"},
			{Path: "spec.initContainers[0].securityContext.seLinuxOptions.role", Value: "object_r", Detail: "must not be set"},
		}},
	})
}
