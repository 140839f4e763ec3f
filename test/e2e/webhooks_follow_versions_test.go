package e2e

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// versionedPolicy is a rule about what a namespace of this test has of a kind.
func versionedPolicy(name, kind, pattern string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [%s], namespaces: [versions]}}]}, validate: {pattern: %s}}]}\n", name, kind, pattern)
}

// autoscaler is one by a version, with the same aim in each.
func autoscaler(version, name string, percent int) string {
	aim := map[string]string{
		"v1": fmt.Sprintf("targetCPUUtilizationPercentage: %d", percent),
		"v2": fmt.Sprintf("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: %d}}}]", percent),
	}[version]
	return fmt.Sprintf("apiVersion: autoscaling/%s\nkind: HorizontalPodAutoscaler\nmetadata: {name: %s, namespace: versions}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, %s}\n", version, name, aim)
}

// TestPoliciesThatNameAVersion hold for what is written by another, as the API server
// converts it, and those that name none are asked about it as it was written.
func TestPoliciesThatNameAVersion(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "versions", nil); err != nil {
		t.Fatal(err)
	}
	atFrontDoor(t, "versions")
	followRules(t)
	deleteAfter(t, "clusterpolicy", "vn-second", "vn-first", "vn-written", "vn-narrow", "vn-events", "vn-widgets", "vn-scale")

	t.Run("a kind of Kubernetes", func(t *testing.T) {
		second := versionedPolicy("vn-second", "autoscaling/v2/HorizontalPodAutoscaler", `{spec: {metrics: [{resource: {target: {averageUtilization: "<=70"}}}]}}`)
		want(t, written(t, second, "apply"), true)
		enforced(t, "clusterpolicy/vn-second", "True", "asks about all")
		awaitRules(t, `"apiVersions":["v2"]`)
		awaitResult(t, func() lab.Result { return written(t, autoscaler("v1", "a", 80), "create", "--dry-run=server") }, false, "vn-second")
		want(t, written(t, autoscaler("v1", "a", 80), "create"), false, "vn-second", "averageUtilization")
		want(t, written(t, autoscaler("v2", "a", 80), "create"), false, "vn-second", "averageUtilization")
		want(t, written(t, autoscaler("v1", "a", 60), "create"), true)
		want(t, written(t, autoscaler("v1", "a", 80), "apply"), false, "vn-second")
		want(t, shared.Kubectl(t.Context(), root, "patch", "-n", "versions", "horizontalpodautoscalers.v1.autoscaling/a", "--type=merge", "-p", `{"spec":{"targetCPUUtilizationPercentage":75}}`), false, "vn-second")
		want(t, written(t, autoscaler("v2", "b", 60), "create"), true)

		first := versionedPolicy("vn-first", "autoscaling/v1/HorizontalPodAutoscaler", `{spec: {targetCPUUtilizationPercentage: "<=50"}}`)
		want(t, written(t, first, "apply"), true)
		enforced(t, "clusterpolicy/vn-first", "True", "asks about all")
		awaitResult(t, func() lab.Result { return written(t, autoscaler("v2", "c", 60), "create", "--dry-run=server") }, false, "vn-first")
		want(t, written(t, autoscaler("v2", "c", 60), "create"), false, "vn-first", "targetCPUUtilizationPercentage")
		want(t, written(t, autoscaler("v1", "c", 60), "create"), false, "vn-first")
		want(t, written(t, autoscaler("v2", "c", 50), "create"), true)
		want(t, written(t, autoscaler("v1", "d", 50), "create"), true)

		// A rule that names no version sees what was written, and nothing else.
		want(t, written(t, versionedPolicy("vn-written", "HorizontalPodAutoscaler", "{apiVersion: autoscaling/v2}"), "apply"), true)
		enforced(t, "clusterpolicy/vn-written", "True", "asks about all")
		want(t, written(t, autoscaler("v2", "e", 50), "create"), true)
		want(t, written(t, autoscaler("v1", "f", 50), "create"), false, "vn-written")

		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "vn-first", "vn-second", "vn-written"), true)
		awaitResult(t, func() lab.Result { return written(t, autoscaler("v1", "g", 90), "create", "--dry-run=server") }, true)
	})
	t.Run("a filter that is about less does not make up for one that names a version", func(t *testing.T) {
		both := "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: vn-narrow}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [HorizontalPodAutoscaler], names: [other]}}, {resources: {kinds: [autoscaling/v2/HorizontalPodAutoscaler], namespaces: [versions]}}]}, validate: {pattern: {spec: {maxReplicas: '<3'}}}}]}\n"
		want(t, written(t, both, "apply"), true)
		enforced(t, "clusterpolicy/vn-narrow", "True", "asks about all")
		awaitResult(t, func() lab.Result { return written(t, autoscaler("v1", "h", 50), "create", "--dry-run=server") }, false, "vn-narrow")
		want(t, written(t, autoscaler("v1", "h", 50), "create"), false, "vn-narrow", "judged as autoscaling/v2, which the API server made of the autoscaling/v1 that was sent")
		want(t, written(t, autoscaler("v2", "h", 50), "create"), false, "vn-narrow")
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "vn-narrow"), true)
	})
	t.Run("two groups of the same objects", func(t *testing.T) {
		want(t, written(t, versionedPolicy("vn-events", "events.k8s.io/v1/Event", `{note: "?*"}`), "apply"), true)
		enforced(t, "clusterpolicy/vn-events", "True", "asks about all")
		event := "apiVersion: v1\nkind: Event\nmetadata: {name: %s, namespace: versions}\ninvolvedObject: {kind: Pod, name: web, namespace: versions}\nreason: Test\ntype: Normal\nmessage: %q\n"
		awaitResult(t, func() lab.Result { return written(t, fmt.Sprintf(event, "silent", ""), "create", "--dry-run=server") }, false, "vn-events")
		want(t, written(t, fmt.Sprintf(event, "silent", ""), "create"), false, "vn-events", "note")
		want(t, written(t, fmt.Sprintf(event, "told", "something"), "create"), true)
	})
	t.Run("a custom kind", func(t *testing.T) {
		want(t, written(t, versionedPolicy("vn-widgets", "versions.example.com/v1/Widget", `{spec: {size: "<=5"}}`), "apply"), true, "Warning")
		enforced(t, "clusterpolicy/vn-widgets", "False", "the API server has no versions.example.com/v1/Widget")
		version := "{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object, properties: {size: {type: integer}}}}}}, subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}}"
		want(t, written(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.versions.example.com}\nspec: {group: versions.example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: ["+
			fmt.Sprintf(version, "v1", true)+", "+fmt.Sprintf(version, "v1beta1", false)+"]}\n", "apply"), true)
		deleteAfter(t, "customresourcedefinition/widgets.versions.example.com")
		enforced(t, "clusterpolicy/vn-widgets", "True", "asks about all")
		widget := "apiVersion: versions.example.com/%s\nkind: Widget\nmetadata: {name: %s, namespace: versions}\nspec: {size: %d}\n"
		awaitResult(t, func() lab.Result {
			return written(t, fmt.Sprintf(widget, "v1beta1", "a", 6), "create", "--dry-run=server")
		}, false, "vn-widgets")
		for _, version := range []string{"v1beta1", "v1"} {
			want(t, written(t, fmt.Sprintf(widget, version, version, 6), "create"), false, "vn-widgets", "spec.size")
			want(t, written(t, fmt.Sprintf(widget, version, version, 5), "create"), true)
		}

		// What is sent to its scale is a Scale, which says neither kind nor version of it.
		want(t, written(t, versionedPolicy("vn-scale", "versions.example.com/v1/Widget/scale", `{spec: {replicas: "<=5"}}`), "apply"), true)
		enforced(t, "clusterpolicy/vn-scale", "True", "asks about all")
		scale := func(version string, replicas int, more ...string) lab.Result {
			args := append([]string{"patch", "-n", "versions", "widgets." + version + ".versions.example.com/v1", "--subresource=scale", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)}, more...)
			return shared.Kubectl(t.Context(), root, args...)
		}
		for _, version := range []string{"v1", "v1beta1"} {
			awaitResult(t, func() lab.Result { return scale(version, 6, "--dry-run=server") }, false, "vn-scale")
			want(t, scale(version, 6), false, "vn-scale", "spec.replicas")
			want(t, scale(version, 4), true)
		}
	})
}
