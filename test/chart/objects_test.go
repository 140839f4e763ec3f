package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// foreign are the kinds of other projects that the chart makes, by the set that has them,
// with all that such an object says.
var foreign = map[string]string{
	"Certificate": `
dnsNames: [sallyport.guard.svc, sallyport.example.com]
duration: 2160h
ipAddresses: [192.0.2.7]
issuerRef: {group: cert-manager.io, kind: Issuer, name: internal}
privateKey: {algorithm: ECDSA, rotationPolicy: Always, size: 256}
renewBefore: 720h
secretName: sallyport-tls
usages: [digital signature, server auth]`,
	"ServiceMonitor": `
endpoints:
- port: https
  path: /metrics
  scheme: https
  interval: 30s
  authorization: {credentials: {key: prometheus, name: api-server-tokens}}
  tlsConfig: {ca: {secret: {key: ca.crt, name: sallyport-tls}}, serverName: sallyport.guard.svc}
selector: {matchLabels: {app.kubernetes.io/instance: sallyport, app.kubernetes.io/name: sallyport}}`,
}

// TestObjects decodes all that the sets come to into the types of Kubernetes, strictly,
// and holds each object to its namespace and labels.
func TestObjects(t *testing.T) {
	types := runtime.NewScheme()
	if err := scheme.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	met := map[string]bool{}
	for _, name := range sets {
		for _, document := range documents(render(t, guard, set(name))) {
			if strings.Contains(document, own) {
				t.Errorf("%s: %s is named in\n%s", name, own, document)
			}
			o := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
				t.Fatal(err)
			}
			if want, is := foreign[o.GetKind()]; is {
				met[o.GetKind()] = true
				spec := map[string]any{}
				if err := yaml.Unmarshal([]byte(want), &spec); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(spec, o.Object["spec"]); diff != "" {
					t.Errorf("%s: the %s (-want +got):\n%s", name, o.GetKind(), diff)
				}
			} else if _, _, err := strict.Decode([]byte(document), nil, nil); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
			if o.GetKind() == "ConfigMap" && o.GetName() == "more" {
				// One of extraObjects, which is as it was given.
				continue
			}
			if o.GetNamespace() != "" && o.GetNamespace() != guard {
				t.Errorf("%s: %s %s is in %s", name, o.GetKind(), o.GetName(), o.GetNamespace())
			}
			labels := o.GetLabels()
			if labels["app.kubernetes.io/name"] != "sallyport" || labels["app.kubernetes.io/managed-by"] != "Helm" || (labels["team"] == "platform") != (name == "everything") {
				t.Errorf("%s: %s %s has the labels %v", name, o.GetKind(), o.GetName(), labels)
			}
		}
	}
	if len(met) != len(foreign) {
		t.Errorf("of other projects only %v was met", slices.Sorted(maps.Keys(met)))
	}
}

// TestNamespaced finds an object of a kind in namespaces that says none: Helm would put it
// where the release is, and a GitOps controller somewhere else.
func TestNamespaced(t *testing.T) {
	namespaced := []string{"ServiceAccount", "Role", "RoleBinding", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy", "Certificate", "ServiceMonitor"}
	cluster := []string{"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "FlowSchema"}
	for _, name := range sets {
		for _, o := range objects(t, render(t, guard, set(name))) {
			switch {
			case slices.Contains(namespaced, o.GetKind()):
				if o.GetNamespace() != guard {
					t.Errorf("%s: %s %s says the namespace %q", name, o.GetKind(), o.GetName(), o.GetNamespace())
				}
			case slices.Contains(cluster, o.GetKind()):
				if o.GetNamespace() != "" {
					t.Errorf("%s: %s %s says the namespace %q", name, o.GetKind(), o.GetName(), o.GetNamespace())
				}
			case o.GetKind() != "ConfigMap":
				t.Errorf("%s: nothing is known of the kind %s", name, o.GetKind())
			}
		}
	}
}

// TestWhatIsSwitchedOn counts what the sets come to.
func TestWhatIsSwitchedOn(t *testing.T) {
	always := map[string]int{"CustomResourceDefinition": 16, "Deployment": 1, "Service": 1, "ServiceAccount": 1, "ClusterRole": 1, "ClusterRoleBinding": 1, "Role": 1, "RoleBinding": 1, "ConfigMap": 1}
	for name, more := range map[string]map[string]int{
		"minimal": {"PodDisruptionBudget": 1, "NetworkPolicy": 1, "ValidatingWebhookConfiguration": 2, "MutatingWebhookConfiguration": 2, "ClusterRole": 2, "ClusterRoleBinding": 2, "Role": 1, "RoleBinding": 1},
		"ha":      {"PodDisruptionBudget": 1, "NetworkPolicy": 1, "ValidatingWebhookConfiguration": 2, "MutatingWebhookConfiguration": 2, "Certificate": 1, "ClusterRole": 1, "ClusterRoleBinding": 1},
		"managed": {"PodDisruptionBudget": 1, "NetworkPolicy": 1, "ConfigMap": 1, "ValidatingWebhookConfiguration": 2, "MutatingWebhookConfiguration": 2, "ClusterRole": 1, "ClusterRoleBinding": 1},
		"observe": {"ValidatingWebhookConfiguration": 1, "MutatingWebhookConfiguration": 1, "ClusterRole": 1, "ClusterRoleBinding": 1},
		"everything": {
			"PodDisruptionBudget": 1, "NetworkPolicy": 1, "ValidatingWebhookConfiguration": 2, "MutatingWebhookConfiguration": 2, "ServiceMonitor": 1, "FlowSchema": 1, "ConfigMap": 2,
			"ClusterRole": 16, "ClusterRoleBinding": 5, "Role": 2, "RoleBinding": 2,
		},
	} {
		want := maps.Clone(always)
		for kind, n := range more {
			want[kind] += n
		}
		if diff := cmp.Diff(want, kinds(t, render(t, guard, set(name)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	none := file(t, "webhook: {enabled: false}\ncrds: {install: false}\nrbac: {create: false}\nserviceAccount: {create: false}\nnetworkPolicy: {enabled: false}\npodDisruptionBudget: {enabled: false}\n")
	if diff := cmp.Diff(map[string]int{"Deployment": 1, "Service": 1, "ConfigMap": 1}, kinds(t, render(t, guard, set("minimal"), none))); diff != "" {
		t.Errorf("all switched off (-want +got):\n%s", diff)
	}
}

// TestDefinitionsStay marks the definitions to be kept, unless they are not to be.
func TestDefinitionsStay(t *testing.T) {
	for keep, values := range map[bool]string{true: "", false: "crds: {keep: false}"} {
		n := 0
		for _, o := range objects(t, render(t, guard, set("minimal"), file(t, values))) {
			if o.GetKind() == "CustomResourceDefinition" {
				n++
				if kept := o.GetAnnotations()["helm.sh/resource-policy"] == "keep"; kept != keep {
					t.Errorf("%s: kept: %v, want %v", o.GetName(), kept, keep)
				}
				if o.GetAnnotations()["controller-gen.kubebuilder.io/version"] == "" {
					t.Errorf("%s has lost its annotations", o.GetName())
				}
			} else if o.GetAnnotations()["helm.sh/resource-policy"] != "" {
				t.Errorf("%s %s would stay", o.GetKind(), o.GetName())
			}
		}
		if n != 16 {
			t.Errorf("%d definitions", n)
		}
	}
}

// TestNetworkPolicy never shuts out an API server, wherever it stands.
func TestNetworkPolicy(t *testing.T) {
	for name, from := range map[string]int{"minimal": 0, "ha": 0, "managed": 1, "everything": 2} {
		rendered := render(t, guard, set(name))
		p := one[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy", "sallyport")
		d := one[appsv1.Deployment](t, rendered, "Deployment", "sallyport")
		if !cmp.Equal(p.Spec.PodSelector, *d.Spec.Selector) || !cmp.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) || len(p.Spec.Egress) > 0 {
			t.Errorf("%s: %+v", name, p.Spec)
		}
		port := d.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Port
		if len(p.Spec.Ingress) != 1 || len(p.Spec.Ingress[0].From) != from || len(p.Spec.Ingress[0].Ports) != 1 || *p.Spec.Ingress[0].Ports[0].Port != port || *p.Spec.Ingress[0].Ports[0].Protocol != corev1.ProtocolTCP {
			t.Errorf("%s: %+v", name, p.Spec.Ingress)
		}
	}
}

// TestService leads to the port that the pods serve at, and the budget is about them.
func TestService(t *testing.T) {
	for _, name := range []string{"minimal", "managed", "everything"} {
		rendered := render(t, guard, set(name))
		s := one[corev1.Service](t, rendered, "Service", "sallyport")
		d := one[appsv1.Deployment](t, rendered, "Deployment", "sallyport")
		b := one[policyv1.PodDisruptionBudget](t, rendered, "PodDisruptionBudget", "sallyport")
		if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].TargetPort != d.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Port {
			t.Errorf("%s: the Service has %+v", name, s.Spec.Ports)
		}
		if !cmp.Equal(s.Spec.Selector, d.Spec.Selector.MatchLabels) || !cmp.Equal(b.Spec.Selector, d.Spec.Selector) {
			t.Errorf("%s: the Service selects %v, the budget %v, the Deployment %v", name, s.Spec.Selector, b.Spec.Selector, d.Spec.Selector)
		}
		for label, value := range d.Spec.Selector.MatchLabels {
			if d.Spec.Template.Labels[label] != value {
				t.Errorf("%s: the pods have the labels %v", name, d.Spec.Template.Labels)
			}
		}
	}
}
