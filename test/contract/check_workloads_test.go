package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// badPodSpec is a pod spec with one fault in an init container and one in the
// second main container.
const badPodSpec = `{initContainers: [{name: i, image: a, securityContext: {privileged: true}}], containers: [{name: a, image: a}, {name: b, image: b, securityContext: {privileged: true}}]}`

// goodPodSpec is a pod spec without a fault.
const goodPodSpec = `{containers: [{name: a, image: a}]}`

// template returns a pod template with the spec.
func template(spec string) string { return "{metadata: {labels: {app: a}}, spec: " + spec + "}" }

// faults are the field paths of badPodSpec under the path of that spec.
func faults(specPath string) []string {
	return []string{
		specPath + ".containers[1].securityContext.privileged",
		specPath + ".initContainers[0].securityContext.privileged",
	}
}

// workload is an object with pods in it.
type workload struct {
	name       string
	apiVersion string
	kind       string
	body       string
	rule       string
	paths      []string
}

func (w workload) yaml() string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: w, namespace: shop}\n%s\n", w.apiVersion, w.kind, w.body)
}

// check judges the workload under baseline and expects the faults exactly.
func (w workload) check(t *testing.T) {
	t.Helper()
	dir := files(t, map[string]string{
		"policy.yaml":   podSecurityPolicy("standard", "Enforce", "{level: baseline, version: latest}"),
		"manifest.yaml": w.yaml(),
	})
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/manifest.yaml")
	j.expect(t, "deny")
	var paths []string
	for _, r := range j.of("standard") {
		paths = append(paths, r.paths()...)
		if r.Rule != w.rule && r.Status != "pass" {
			t.Errorf("rule %q, want %q", r.Rule, w.rule)
		}
		if r.Resource.Kind != w.kind || r.Resource.APIVersion != w.apiVersion || r.Resource.Name != "w" || r.Resource.Namespace != "shop" {
			t.Errorf("the result is about %+v", r.Resource)
		}
	}
	want := slices.Sorted(slices.Values(w.paths))
	slices.Sort(paths)
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestCheckWorkloads finds the pods of every built-in kind.
func TestCheckWorkloads(t *testing.T) {
	t.Parallel()
	tests := []workload{
		{"Pod", "v1", "Pod", "spec: " + badPodSpec, "standard", faults("spec")},
		{"ReplicationController", "v1", "ReplicationController", "spec: {template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"PodTemplate", "v1", "PodTemplate", "template: " + template(badPodSpec), "autogen-standard", faults("template.spec")},
		{"Deployment", "apps/v1", "Deployment", "spec: {selector: {matchLabels: {app: a}}, template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"ReplicaSet", "apps/v1", "ReplicaSet", "spec: {selector: {matchLabels: {app: a}}, template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"StatefulSet", "apps/v1", "StatefulSet", "spec: {serviceName: s, selector: {matchLabels: {app: a}}, template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"DaemonSet", "apps/v1", "DaemonSet", "spec: {selector: {matchLabels: {app: a}}, template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"Job", "batch/v1", "Job", "spec: {template: " + template(badPodSpec) + "}", "autogen-standard", faults("spec.template.spec")},
		{"CronJob", "batch/v1", "CronJob", "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: " + template(badPodSpec) + "}}}", "autogen-cronjob-standard", faults("spec.jobTemplate.spec.template.spec")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

// TestCheckCustomKinds finds the pods of the kinds that are registered out of
// the box.
func TestCheckCustomKinds(t *testing.T) {
	t.Parallel()
	bad, good := template(badPodSpec), template(goodPodSpec)
	const auto = "autogen-standard"
	tests := []workload{
		{"Argo Rollout", "argoproj.io/v1alpha1", "Rollout", "spec: {template: " + bad + "}", auto, faults("spec.template.spec")},
		{"Knative Service", "serving.knative.dev/v1", "Service", "spec: {template: " + bad + "}", auto, faults("spec.template.spec")},
		{"JobSet: the second job", "jobset.x-k8s.io/v1alpha2", "JobSet",
			"spec: {replicatedJobs: [{name: a, template: {spec: {template: " + good + "}}}, {name: b, template: {spec: {template: " + bad + "}}}]}",
			auto, faults("spec.replicatedJobs[1].template.spec.template.spec")},
		{"LeaderWorkerSet: leader", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
			"spec: {leaderWorkerTemplate: {leaderTemplate: " + bad + ", workerTemplate: " + good + "}}",
			auto, faults("spec.leaderWorkerTemplate.leaderTemplate.spec")},
		{"LeaderWorkerSet: worker", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
			"spec: {leaderWorkerTemplate: {workerTemplate: " + bad + "}}",
			auto, faults("spec.leaderWorkerTemplate.workerTemplate.spec")},
		{"KEDA ScaledJob", "keda.sh/v1alpha1", "ScaledJob", "spec: {jobTargetRef: {template: " + bad + "}}", auto, faults("spec.jobTargetRef.template.spec")},
		{"RayCluster: head", "ray.io/v1", "RayCluster",
			"spec: {headGroupSpec: {template: " + bad + "}, workerGroupSpecs: [{groupName: a, template: " + good + "}]}",
			auto, faults("spec.headGroupSpec.template.spec")},
		{"RayCluster: second worker group", "ray.io/v1", "RayCluster",
			"spec: {headGroupSpec: {template: " + good + "}, workerGroupSpecs: [{groupName: a, template: " + good + "}, {groupName: b, template: " + bad + "}]}",
			auto, faults("spec.workerGroupSpecs[1].template.spec")},
		{"Kueue Workload", "kueue.x-k8s.io/v1beta1", "Workload", "spec: {podSets: [{name: main, template: " + bad + "}]}", auto, faults("spec.podSets[0].template.spec")},
		{"Volcano Job", "batch.volcano.sh/v1alpha1", "Job", "spec: {tasks: [{name: a, template: " + good + "}, {name: b, template: " + bad + "}]}", auto, faults("spec.tasks[1].template.spec")},
		{"OpenKruise CloneSet", "apps.kruise.io/v1alpha1", "CloneSet", "spec: {template: " + bad + "}", auto, faults("spec.template.spec")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

// TestCheckMapOfTemplates covers a kind whose templates stand in a map. The key
// may be written as a field or in brackets, as both are used for maps.
func TestCheckMapOfTemplates(t *testing.T) {
	t.Parallel()
	w := workload{apiVersion: "kubeflow.org/v1", kind: "PyTorchJob",
		body: "spec: {pytorchReplicaSpecs: {Master: {template: " + template(goodPodSpec) + "}, Worker: {template: " + template(badPodSpec) + "}}}"}
	dir := files(t, map[string]string{
		"policy.yaml":   podSecurityPolicy("standard", "Enforce", "{level: baseline, version: latest}"),
		"manifest.yaml": w.yaml(),
	})
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/manifest.yaml")
	j.expect(t, "deny")
	var paths []string
	for _, r := range j.Results {
		for _, p := range r.paths() {
			paths = append(paths, strings.NewReplacer("[Worker]", ".Worker", "['Worker']", ".Worker", `["Worker"]`, ".Worker").Replace(p))
		}
	}
	slices.Sort(paths)
	if diff := cmp.Diff(faults("spec.pytorchReplicaSpecs.Worker.template.spec"), paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestCheckList judges each item of a List as if it stood alone.
func TestCheckList(t *testing.T) {
	t.Parallel()
	list := "apiVersion: v1\nkind: List\nitems:\n" +
		"- {apiVersion: v1, kind: Pod, metadata: {name: good, namespace: shop}, spec: " + goodPodSpec + "}\n" +
		"- {apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: shop}, spec: " + badPodSpec + "}\n" +
		"- {apiVersion: apps/v1, kind: Deployment, metadata: {name: deep, namespace: shop}, spec: {template: " + template(badPodSpec) + "}}\n" +
		"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: nested, namespace: shop}, spec: " + badPodSpec + "}]}\n"
	dir := files(t, map[string]string{
		"policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
		"list.yaml":   list,
	})
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/list.yaml")
	j.expect(t, "deny")
	got := map[string]string{}
	for _, r := range j.Results {
		got[r.Resource.Kind+"/"+r.Resource.Name+" by "+r.Rule] = r.Status
	}
	want := map[string]string{
		"Pod/good by standard":                "pass",
		"Pod/bad by standard":                 "fail",
		"Deployment/deep by autogen-standard": "fail",
		"Pod/nested by standard":              "fail",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
