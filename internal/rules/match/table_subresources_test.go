package match_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// TestTableSubresources holds the entries of kinds against targets that are
// subresources.
func TestTableSubresources(t *testing.T) {
	exec := tableTarget(kindPod, withSubresource("exec"), withOperation(request.Connect))
	ephemeral := tableTarget(kindPod, withSubresource("ephemeralcontainers"), withOperation(request.Update))
	podStatus := tableTarget(kindPod, withSubresource("status"), withOperation(request.Update))
	scale := tableTarget(kindDeployment, withSubresource("scale"), withOperation(request.Update))
	resize := tableTarget(kindPod, withSubresource("resize"), withOperation(request.Update))
	relabels := func(t *match.Target) { t.Relabels = true }
	podRelabelled := tableTarget(kindPod, withSubresource("status"), withOperation(request.Update), relabels)
	deploymentRelabelled := tableTarget(kindDeployment, withSubresource("status"), withOperation(request.Update), relabels)

	runTable(t, []tableCase{
		{"Pod takes in its being resized", `resources: {kinds: [Pod]}`, resize, hit},
		{"core/v1/Pod takes in its being resized", `resources: {kinds: [core/v1/Pod]}`, resize, hit},
		{"Pod among others takes in its being resized", `resources: {kinds: [Deployment, Pod]}`, resize, hit},
		{"every kind takes in that a Pod is resized", `resources: {kinds: ["*"]}`, resize, hit},
		{"another kind has nothing to do with resizing Pods", `resources: {kinds: [Deployment]}`, resize, miss},
		{"resize by its own name", `resources: {kinds: [Pod/resize]}`, resize, hit},
		{"ephemeral containers leave resize out", `resources: {kinds: [Pod/ephemeralcontainers]}`, resize, miss},
		{"resize needs the other fields too", `resources: {kinds: [Pod], names: [db]}`, resize, miss},
		{"Pod takes in labels that are changed by the status", `resources: {kinds: [Pod]}`, podRelabelled, hit},
		{"status by its own name takes that in too", `resources: {kinds: [Pod/status]}`, podRelabelled, hit},
		{"exec does not", `resources: {kinds: [Pod/exec]}`, podRelabelled, miss},
		{"Namespace takes in labels that are changed by its end", `resources: {kinds: [Namespace]}`, tableTarget(kindNamespace, withoutNamespace, withSubresource("finalize"), withOperation(request.Update), relabels), hit},
		{"another kind takes in labels that are changed by its status", `resources: {kinds: [apps/v1/Deployment]}`, deploymentRelabelled, hit},
		{"and not those of others", `resources: {kinds: [StatefulSet]}`, deploymentRelabelled, miss},
		{"a bare kind leaves exec out", `resources: {kinds: [Pod]}`, exec, miss},
		{"a bare kind leaves status out", `resources: {kinds: [Pod]}`, podStatus, miss},
		{"a bare kind leaves scale out", `resources: {kinds: [Deployment]}`, scale, miss},
		{"a bare kind leaves eviction out", `resources: {kinds: [Pod]}`, tableTarget(kindPod, withSubresource("eviction")), miss},
		{"a bare kind leaves finalize of a Namespace out", `resources: {kinds: [Namespace]}`, tableTarget(kindNamespace, withoutNamespace, withSubresource("finalize")), miss},
		{"Pod takes in its ephemeral containers", `resources: {kinds: [Pod]}`, ephemeral, hit},
		{"v1/Pod takes in its ephemeral containers", `resources: {kinds: [v1/Pod]}`, ephemeral, hit},
		{"core/v1/Pod takes in its ephemeral containers", `resources: {kinds: [core/v1/Pod]}`, ephemeral, hit},
		{"every version of Pod takes in its ephemeral containers", `resources: {kinds: ["*/Pod"]}`, ephemeral, hit},
		{"every group of Pod takes in its ephemeral containers", `resources: {kinds: ["*/*/Pod"]}`, ephemeral, hit},
		{"Pod among others takes in its ephemeral containers", `resources: {kinds: [Deployment, Pod]}`, ephemeral, hit},
		{"another kind has nothing to do with ephemeral containers", `resources: {kinds: [Deployment]}`, ephemeral, miss},
		{"ephemeral containers of another kind are a subresource like any", `resources: {kinds: [Deployment]}`, tableTarget(kindDeployment, withSubresource("ephemeralcontainers")), miss},
		{"ephemeral containers by their own name", `resources: {kinds: [Pod/ephemeralcontainers]}`, ephemeral, hit},
		{"ephemeral containers by their own name leave the Pod out", `resources: {kinds: [Pod/ephemeralcontainers]}`, tableTarget(kindPod), miss},
		{"ephemeral containers need the other fields too", `resources: {kinds: [Pod], names: [db]}`, ephemeral, miss},
		{"exec leaves ephemeral containers out", `resources: {kinds: [Pod/exec]}`, ephemeral, miss},
		{"every kind leaves exec out", `resources: {kinds: ["*"]}`, exec, miss},
		{"every kind leaves status out", `resources: {kinds: ["*"]}`, podStatus, miss},
		{"every kind leaves scale out", `resources: {kinds: ["*"]}`, scale, miss},
		{"every kind of a version leaves exec out", `resources: {kinds: ["v1/*"]}`, exec, miss},
		{"every kind of a group leaves scale out", `resources: {kinds: ["apps/*/*"]}`, scale, miss},
		{"every kind and subresource takes in exec", `resources: {kinds: ["*/*"]}`, exec, hit},
		{"every kind and subresource takes in scale", `resources: {kinds: ["*/*"]}`, scale, hit},
		{"every kind and subresource takes in ephemeral containers", `resources: {kinds: ["*/*"]}`, ephemeral, hit},
		{"a wildcard kind leaves exec out", `resources: {kinds: ["Po*"]}`, exec, miss},

		{"kind and subresource", `resources: {kinds: [Pod/exec]}`, exec, hit},
		{"kind and subresource leave the kind out", `resources: {kinds: [Pod/exec]}`, tableTarget(kindPod), miss},
		{"kind and subresource leave another subresource out", `resources: {kinds: [Pod/exec]}`, tableTarget(kindPod, withSubresource("attach")), miss},
		{"kind and subresource leave another kind out", `resources: {kinds: [Pod/status]}`, tableTarget(kindNode, withoutNamespace, withSubresource("status")), miss},
		{"kind and subresource, custom kind", `resources: {kinds: [Rollout/scale]}`, tableTarget(kindRollout, withSubresource("scale")), hit},
		{"one of several subresources", `resources: {kinds: [Pod/exec, Pod/attach, Pod/portforward]}`, tableTarget(kindPod, withSubresource("attach")), hit},
		{"kind with and without subresource", `resources: {kinds: [Pod, Pod/exec]}`, exec, hit},
		{"version, kind and subresource", `resources: {kinds: [v1/Pod/exec]}`, exec, hit},
		{"version, kind and subresource leave the kind out", `resources: {kinds: [v1/Pod/exec]}`, tableTarget(kindPod), miss},
		{"version, kind and subresource, other version", `resources: {kinds: [v1beta1/Rollout/status]}`, tableTarget(kindRollout, withSubresource("status")), miss},
		{"group, version, kind and subresource", `resources: {kinds: [apps/v1/Deployment/scale]}`, scale, hit},
		{"group, version, kind and subresource leave the kind out", `resources: {kinds: [apps/v1/Deployment/scale]}`, tableTarget(kindDeployment), miss},
		{"core, version, kind and subresource", `resources: {kinds: [core/v1/Pod/exec]}`, exec, hit},
		{"core, version, kind and subresource, other group", `resources: {kinds: [core/v1/Pod/exec]}`, tableTarget(kindOtherPod, withSubresource("exec")), miss},
		{"group with every version and a subresource", `resources: {kinds: ["apps/*/Deployment/scale"]}`, scale, hit},
		{"a subresource of every kind", `resources: {kinds: ["*/scale"]}`, scale, hit},
		{"a subresource of every kind leaves the kind out", `resources: {kinds: ["*/scale"]}`, tableTarget(kindDeployment), miss},
		{"a subresource of every kind leaves others out", `resources: {kinds: ["*/scale"]}`, exec, miss},
		{"a subresource of every version and kind", `resources: {kinds: ["*/*/exec"]}`, exec, hit},
		{"a subresource of every version and kind leaves others out", `resources: {kinds: ["*/*/exec"]}`, podStatus, miss},
		{"a subresource of every kind of a group", `resources: {kinds: ["apps/v1/*/scale"]}`, scale, hit},
		{"a subresource of every kind of another group", `resources: {kinds: ["batch/v1/*/status"]}`, podStatus, miss},
		{"every subresource of a kind takes in exec", `resources: {kinds: ["Pod/*"]}`, exec, hit},
		{"every subresource of a kind takes in status", `resources: {kinds: ["Pod/*"]}`, podStatus, hit},
		{"every subresource of a kind leaves other kinds out", `resources: {kinds: ["Pod/*"]}`, scale, miss},
		{"every subresource of a versioned kind", `resources: {kinds: ["v1/Pod/*"]}`, exec, hit},
		{"a wildcard in the subresource", `resources: {kinds: ["Pod/port*"]}`, tableTarget(kindPod, withSubresource("portforward")), hit},
		{"a wildcard in the subresource that does not fit", `resources: {kinds: ["Pod/port*"]}`, exec, miss},
		{"a wildcard before the subresource's end leaves the kind out", `resources: {kinds: ["Pod/*c"]}`, tableTarget(kindPod), miss},
		{"a question mark in the subresource", `resources: {kinds: ["Pod/exe?"]}`, exec, hit},
		{"at least one character of subresource leaves the kind out", `resources: {kinds: ["Pod/?*"]}`, tableTarget(kindPod), miss},
		{"at least one character of subresource takes in exec", `resources: {kinds: ["Pod/?*"]}`, exec, hit},
		{"a wildcard kind with a subresource", `resources: {kinds: ["P*/exec"]}`, exec, hit},
		{"all four parts with wildcards", `resources: {kinds: ["a*/v*/D*/s*"]}`, scale, hit},
		{"all four parts open", `resources: {kinds: ["*/*/*/*"]}`, exec, hit},
		{"a subresource is case-sensitive", `resources: {kinds: [Pod/exec]}`, tableTarget(kindPod, withSubresource("Exec")), miss},
	})
}
