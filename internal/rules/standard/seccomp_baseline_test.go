package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestSeccompBaseline(t *testing.T) {
	t.Parallel()
	const annotated = `
metadata:
  annotations:
    seccomp.security.alpha.kubernetes.io/pod: unconfined
    container.seccomp.security.alpha.kubernetes.io/a: ""
    container.seccomp.security.alpha.kubernetes.io/e: Localhost/x
    container.seccomp.security.alpha.kubernetes.io/absent: unconfined
spec: {initContainers: [{name: a}], containers: [{name: a}], ephemeralContainers: [{name: e}]}
`
	const annotationDetail = "must be runtime/default, docker/default, localhost/* or not set"
	const typed = `
spec:
  securityContext: {seccompProfile: {type: Unconfined}}
  containers: [{name: a, securityContext: {seccompProfile: {type: ""}}}]
`
	testControl(t, "baseline", "seccompProfile_baseline", "Seccomp", []controlTest{
		{name: "not set", pod: `{spec: {securityContext: {}, containers: [{name: a, securityContext: {}}]}}`},
		{name: "allowed types", pod: `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}, containers: [{name: a, securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}}]}}`},
		{name: "types", version: "v1.19", pod: typed, want: []decision.Finding{
			{Path: "spec.securityContext.seccompProfile.type", Value: "Unconfined", Detail: "must be RuntimeDefault, Localhost or not set"},
			{Path: "spec.containers[0].securityContext.seccompProfile.type", Detail: "must be RuntimeDefault, Localhost or not set"},
		}},
		{name: "types before they were judged", version: "v1.18", pod: typed},
		{name: "annotations", version: "v1.18", pod: annotated, want: []decision.Finding{
			{Path: "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]", Detail: annotationDetail},
			{Path: "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/e]", Value: "Localhost/x", Detail: annotationDetail},
			{Path: "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]", Value: "unconfined", Detail: annotationDetail},
		}},
		{name: "annotations after they were judged", version: "v1.19", pod: annotated},
		{name: "allowed annotations", version: "v1.0", pod: `
metadata:
  annotations:
    seccomp.security.alpha.kubernetes.io/pod: docker/default
    container.seccomp.security.alpha.kubernetes.io/a: localhost/x
    container.seccomp.security.alpha.kubernetes.io/b: runtime/default
spec: {containers: [{name: a}, {name: b}]}
`},
	})
}
