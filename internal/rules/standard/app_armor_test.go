package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestAppArmor(t *testing.T) {
	t.Parallel()
	const detail = "must be RuntimeDefault, Localhost or not set"
	const annotationDetail = "must be runtime/default, localhost/* or not set"
	testControl(t, "baseline", "appArmorProfile", "AppArmor", []controlTest{
		{name: "allowed", pod: `
metadata:
  annotations:
    container.apparmor.security.beta.kubernetes.io/a: runtime/default
    container.apparmor.security.beta.kubernetes.io/b: localhost/profile
    container.apparmor.security.beta.kubernetes.io/c: ""
    other.apparmor.security.beta.kubernetes.io/a: unconfined
spec:
  securityContext: {appArmorProfile: {type: RuntimeDefault}}
  containers: [{name: a, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}}]
`},
		{name: "types", pod: `
spec:
  securityContext: {appArmorProfile: {type: Unconfined}}
  containers: [{name: a, securityContext: {appArmorProfile: {type: runtimedefault}}}]
  ephemeralContainers: [{name: e, securityContext: {appArmorProfile: {type: ""}}}]
`, want: []decision.Finding{
			{Path: "spec.securityContext.appArmorProfile.type", Value: "Unconfined", Detail: detail},
			{Path: "spec.containers[0].securityContext.appArmorProfile.type", Value: "runtimedefault", Detail: detail},
			{Path: "spec.ephemeralContainers[0].securityContext.appArmorProfile.type", Detail: detail},
		}},
		{name: "annotations, of containers that are not there as well", pod: `
metadata:
  annotations:
    container.apparmor.security.beta.kubernetes.io/b: unconfined
    container.apparmor.security.beta.kubernetes.io/a: Localhost/x
spec: {containers: [{name: a}]}
`, want: []decision.Finding{
			{Path: "metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]", Value: "Localhost/x", Detail: annotationDetail},
			{Path: "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]", Value: "unconfined", Detail: annotationDetail},
		}},
	})
}
