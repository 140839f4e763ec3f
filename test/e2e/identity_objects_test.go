package e2e

import (
	"fmt"
	"strings"
)

const appImage = "gcr.io/mycompany/app:1.0"

// podOf is the document's pod. More lines of its spec can follow.
func podOf(name, annotations string, spec ...string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: %s}
spec:
  containers: [{name: app, image: "%s"}]
%s`, name, annotations, appImage, lines(spec))
}

// lines indents the lines of a spec.
func lines(spec []string) string {
	var b strings.Builder
	for _, line := range spec {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// workload is a kind that makes pods.
type workload struct {
	kind, apiVersion string
	// controlled tells whether the controller manager makes pods of it.
	controlled bool
	// scales tells whether kubectl scale knows it, restarts whether rollout restart
	// does.
	scales, restarts bool
	// spec has TEMPLATE and NAME left open; it is empty where the template stands
	// outside of a spec.
	spec string
}

const selected = "{replicas: 1, selector: {matchLabels: {app: NAME}}, template: TEMPLATE}"

var workloads = []workload{
	{kind: "Deployment", apiVersion: "apps/v1", controlled: true, scales: true, restarts: true, spec: selected},
	{kind: "StatefulSet", apiVersion: "apps/v1", controlled: true, scales: true, restarts: true, spec: strings.Replace(selected, "replicas: 1", "replicas: 1, serviceName: NAME", 1)},
	{kind: "DaemonSet", apiVersion: "apps/v1", controlled: true, restarts: true, spec: strings.Replace(selected, "replicas: 1, ", "", 1)},
	{kind: "ReplicaSet", apiVersion: "apps/v1", controlled: true, scales: true, spec: selected},
	{kind: "ReplicationController", apiVersion: "v1", controlled: true, scales: true, spec: "{replicas: 1, selector: {app: NAME}, template: TEMPLATE}"},
	{kind: "Job", apiVersion: "batch/v1", controlled: true, spec: "{template: TEMPLATE}"},
	{kind: "CronJob", apiVersion: "batch/v1", controlled: true, spec: "{schedule: '* * * * *', concurrencyPolicy: Forbid, jobTemplate: {spec: {template: TEMPLATE}}}"},
	{kind: "PodTemplate", apiVersion: "v1"},
}

// rollout is a custom kind of the registrations. Nothing in the lab makes pods of
// it.
var rollout = workload{kind: "Rollout", apiVersion: "argoproj.io/v1alpha1", spec: selected}

const rolloutDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Rollout, plural: rollouts, singular: rollout}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

func workloadOf(kind string) workload {
	for _, w := range workloads {
		if w.kind == kind {
			return w
		}
	}
	panic("no workload " + kind)
}

// resource is the kind as kubectl takes it.
func (w workload) resource() string { return strings.ToLower(w.kind) }

// of is an object of the kind. Its pods have these annotations, and are labelled
// app=NAME.
func (w workload) of(name, annotations string) string {
	return w.with(name, annotations, appImage, "")
}

// with is of with an image, and with more fields of the pods' spec, each followed
// by a comma.
func (w workload) with(name, annotations, image, podSpec string) string {
	restart := "Always"
	if w.kind == "Job" || w.kind == "CronJob" {
		restart = "Never"
	}
	template := fmt.Sprintf(`{metadata: {labels: {app: %s}, annotations: %s}, spec: {%srestartPolicy: %s, containers: [{name: app, image: "%s"}]}}`, name, annotations, podSpec, restart, image)
	body := "template: " + template
	if w.spec != "" {
		body = "spec: " + strings.NewReplacer("NAME", name, "TEMPLATE", template).Replace(w.spec)
	}
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s\n", w.apiVersion, w.kind, name, body)
}

// templatePatch is a merge patch of what stands at the place of the template.
func (w workload) templatePatch(change string) string {
	switch w.kind {
	case "CronJob":
		return `{"spec": {"jobTemplate": {"spec": {"template": ` + change + `}}}}`
	case "PodTemplate":
		return `{"template": ` + change + `}`
	}
	return `{"spec": {"template": ` + change + `}}`
}

// claimPatch is a merge patch that sets an annotation of the pods, or with null
// takes it away.
func (w workload) claimPatch(key, value string) string {
	if value != "null" {
		value = `"` + value + `"`
	}
	return w.templatePatch(fmt.Sprintf(`{"metadata": {"annotations": {"%s": %s}}}`, key, value))
}

// imagePatch is a merge patch of the image of the pods.
func (w workload) imagePatch(image string) string {
	return w.templatePatch(fmt.Sprintf(`{"spec": {"containers": [{"name": "app", "image": "%s"}]}}`, image))
}
