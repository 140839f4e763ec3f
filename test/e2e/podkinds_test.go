package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// customKinds are kinds whose objects hold pods, as far as the lab needs their
// definitions: any field is kept.
var customKinds = []struct{ group, version, kind, plural string }{
	{"farm.example.com", "v1", "Farm", "farms"},
	{"argoproj.io", "v1alpha1", "Workflow", "workflows"},
	{"core.strimzi.io", "v1", "StrimziPodSet", "strimzipodsets"},
	{"apps.openshift.io", "v1", "DeploymentConfig", "deploymentconfigs"},
	{"tekton.dev", "v1", "TaskRun", "taskruns"},
}

// defineCustomKinds installs them. They stay, for other tests.
func defineCustomKinds(t *testing.T) {
	t.Helper()
	var manifests, names []string
	for _, k := range customKinds {
		name := k.plural + "." + k.group
		names = append(names, "crd/"+name)
		manifests = append(manifests, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: %s
  scope: Namespaced
  names: {kind: %s, plural: %s}
  versions: [{name: %s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, name, k.group, k.kind, k.plural, k.version))
	}
	if err := shared.Apply(t.Context(), strings.Join(manifests, "---\n")); err != nil {
		t.Fatal(err)
	}
	want(t, shared.Kubectl(t.Context(), root, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, names...)...), true)
}

// askAboutCustomKinds adds them to what the API server asks about.
func askAboutCustomKinds(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for _, k := range customKinds {
		config.Webhooks[0].Rules = append(config.Webhooks[0].Rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{k.group}, APIVersions: []string{"*"}, Resources: []string{k.plural}},
		})
	}
}

// farmOf is an object of the kind that only a PodKind can tell to make pods.
func farmOf(namespace string) string {
	return fmt.Sprintf("apiVersion: farm.example.com/v1\nkind: Farm\nmetadata: {name: fresh, namespace: %s}\nspec: {workers: {a: {template: {spec: {containers: [{name: c, image: registry.example.com/a:1, securityContext: {privileged: true}}]}}}}}\n", namespace)
}

const farmKind = "{group: farm.example.com, kinds: [Farm], pods: [{path: spec.workers.*.template}]}"

// TestPodKinds has objects that hold pods created by kubectl: of kinds that are shipped,
// and of one that a PodKind registers, changes and gives up while Sallyport runs, and
// beside a restart.
func TestPodKinds(t *testing.T) {
	defineCustomKinds(t)
	if err := shared.CreateNamespace(t.Context(), "podkinds", nil); err != nil {
		t.Fatal(err)
	}
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "podkinds", Args: []string{"--watch-policies"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &workflowLab{t, s}
	t.Cleanup(func() {
		unwire(t, shared.UnwireAdmission)
		ctx := context.WithoutCancel(t.Context())
		shared.Kubectl(ctx, root, "delete", "clusterpolicies,podkinds", "--all", "--ignore-not-found")
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	if err := shared.WireAdmission(t.Context(), s, askAboutCustomKinds); err != nil {
		t.Fatal(err)
	}
	w.apply(root, brokenObject("ClusterPolicy", "podkinds", "{rules: [{name: b, match: {any: [{resources: {kinds: [Pod], namespaces: [podkinds]}}]}, validate: {podSecurity: {level: baseline}}}]}"))
	w.await(root, "True", "get", "clusterpolicy", "podkinds", "-o", readyOf)

	pod := "containers: [{name: c, image: registry.example.com/a:1, securityContext: {privileged: true}}]"
	for _, c := range []struct{ name, manifest, path string }{
		{"Workflow", "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: fresh, namespace: podkinds}\nspec: {entrypoint: main, templates: [{name: main, container: {image: registry.example.com/a:1, securityContext: {privileged: true}}}]}\n", "spec.templates[0].container.securityContext.privileged"},
		{"StrimziPodSet", "apiVersion: core.strimzi.io/v1\nkind: StrimziPodSet\nmetadata: {name: fresh, namespace: podkinds}\nspec: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {" + pod + "}}]}\n", "spec.pods[0].spec.containers[0].securityContext.privileged"},
		{"DeploymentConfig", "apiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\nmetadata: {name: fresh, namespace: podkinds}\nspec: {template: {spec: {" + pod + "}}}\n", "spec.template.spec.containers[0].securityContext.privileged"},
		{"TaskRun", "apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: fresh, namespace: podkinds}\nspec: {taskSpec: {steps: [{name: c, image: registry.example.com/a:1, securityContext: {privileged: true}}]}}\n", "spec.taskSpec.steps[0].securityContext.privileged"},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, creates(c.manifest)(t), false, c.path, "autogen-b") })
	}

	farm := creates(farmOf("podkinds"))
	const path = "spec.workers.a.template.spec.containers[0].securityContext.privileged"
	refused := func() string {
		if r := farm(t); r.OK() || !strings.Contains(r.Stderr, path) {
			return r.String()
		}
		return ""
	}
	letIn := func() string {
		if r := farm(t); !r.OK() {
			return r.String()
		}
		return ""
	}
	if r := letIn(); r != "" {
		t.Fatal(r)
	}
	w.apply(root, brokenObject("PodKind", "farms", farmKind))
	eventually(t, refused)
	w.await(root, "True", "get", "podkind", "farms", "-o", readyOf)
	want(t, shared.Kubectl(t.Context(), root, "get", "pk"), true, "farm.example.com", "Farm")
	for name, spec := range map[string]string{
		"again":      farmKind,
		"deployment": "{group: apps, kinds: [Deployment], pods: [{path: spec.other}]}",
		"workflow":   "{group: argoproj.io, kinds: [Workflow], pods: [{path: 'spec.templates[*]', form: PodSpec}]}",
		"bad-path":   "{group: x.example.com, kinds: [X], pods: [{path: 'a..b'}]}",
		"lone-parts": "{group: x.example.com, kinds: [X], pods: [{path: a, parts: [{from: a, to: spec}]}]}",
	} {
		want(t, w.do(root, brokenObject("PodKind", name, spec), "apply"), false, "PodKind")
	}

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := shared.WireAdmission(t.Context(), s, askAboutCustomKinds); err != nil {
		t.Fatal(err)
	}
	if r := refused(); r != "" {
		t.Errorf("after a restart: %s", r)
	}
	w.apply(root, brokenObject("PodKind", "farms", strings.Replace(farmKind, "workers", "others", 1)))
	eventually(t, letIn)
	w.apply(root, brokenObject("PodKind", "farms", farmKind))
	eventually(t, refused)
	want(t, shared.Kubectl(t.Context(), root, "delete", "podkind", "farms"), true)
	eventually(t, letIn)
}
