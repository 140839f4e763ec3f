package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestHostPathVolumes(t *testing.T) {
	t.Parallel()
	testControl(t, "baseline", "hostPathVolumes", "HostPath Volumes", []controlTest{
		{name: "others", pod: `{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, nfs: {server: s, path: /}}, {name: c}]}}`},
		{name: "every one", pod: `{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /etc}}, {name: c, hostPath: {path: ""}}]}}`, want: []decision.Finding{
			{Path: "spec.volumes[1].hostPath.path", Value: "/etc", Detail: "hostPath volumes are not allowed"},
			{Path: "spec.volumes[2].hostPath.path", Detail: "hostPath volumes are not allowed"},
		}},
	})
}
