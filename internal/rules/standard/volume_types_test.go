package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestVolumeTypes(t *testing.T) {
	t.Parallel()
	testControl(t, "restricted", "restrictedVolumes", "Volume Types", []controlTest{
		{name: "allowed", pod: `
spec:
  volumes:
  - {name: a, configMap: {name: c}}
  - {name: b, csi: {driver: d}}
  - {name: c, downwardAPI: {}}
  - {name: d, emptyDir: {}}
  - {name: e, ephemeral: {}}
  - {name: f, image: {reference: i}}
  - {name: g, persistentVolumeClaim: {claimName: p}}
  - {name: h, projected: {sources: []}}
  - {name: i, secret: {secretName: s}}
`},
		{name: "a path of the node, by its path", pod: `{spec: {volumes: [{name: a, hostPath: {path: /var/run, type: Directory}}]}}`, want: []decision.Finding{
			{Path: "spec.volumes[0].hostPath.path", Value: "/var/run", Detail: "hostPath volumes are not allowed"},
		}},
		{name: "other types, as they stand", pod: `{spec: {volumes: [{name: a, nfs: {server: "<s>", path: /x}}, {name: b, emptyDir: {}}, {name: c, flocker: {}}]}}`, want: []decision.Finding{
			{Path: "spec.volumes[0].nfs", Value: `{"server":"<s>","path":"/x"}`, Detail: "nfs volumes are not allowed"},
			{Path: "spec.volumes[2].flocker", Value: `{}`, Detail: "flocker volumes are not allowed"},
		}},
		{name: "several types in one", pod: `{spec: {volumes: [{name: a, nfs: {server: s, path: /x}, hostPath: {path: /}, cinder: {volumeID: v}}]}}`, want: []decision.Finding{
			{Path: "spec.volumes[0].hostPath.path", Value: "/", Detail: "hostPath volumes are not allowed"},
			{Path: "spec.volumes[0].cinder", Value: `{"volumeID":"v"}`, Detail: "cinder volumes are not allowed"},
			{Path: "spec.volumes[0].nfs", Value: `{"server":"s","path":"/x"}`, Detail: "nfs volumes are not allowed"},
		}},
		{name: "no type", version: "v1.0", pod: `{spec: {volumes: [{name: a}]}}`, want: []decision.Finding{
			{Path: "spec.volumes[0]", Detail: "has no type of volume that is allowed"},
		}},
		{name: "passwords are left out", pod: `
spec:
  volumes:
  - {name: a, flexVolume: {driver: d, options: {password: hunter2}}}
  - {name: b, gitRepo: {repository: "https://me:hun@ter2@git.example/r.git"}}
  - {name: c, gitRepo: {repository: "me:hunter2@git.example:r.git"}}
`, want: []decision.Finding{
			{Path: "spec.volumes[0].flexVolume", Value: `{"driver":"d"}`, Detail: "flexVolume volumes are not allowed"},
			{Path: "spec.volumes[1].gitRepo", Value: `{"repository":"https://git.example/r.git"}`, Detail: "gitRepo volumes are not allowed"},
			{Path: "spec.volumes[2].gitRepo", Value: `{"repository":"git.example:r.git"}`, Detail: "gitRepo volumes are not allowed"},
		}},
	})
	testControl(t, "restricted", "hostPathVolumes", "HostPath Volumes", []controlTest{
		{name: "the baseline check is replaced", pod: `{spec: {volumes: [{name: a, hostPath: {path: /}}]}}`},
	})
}
