package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/test/lab"
)

// kindObjects has of kinds an object that the API server would make, without its name
// and its apiVersion: NAME and what comes from discovery are filled in.
var kindObjects = map[string]string{
	"ConfigMap":                      ``,
	"Secret":                         ``,
	"Service":                        `spec: {ports: [{port: 80}]}`,
	"ServiceAccount":                 ``,
	"Namespace":                      ``,
	"Endpoints":                      ``,
	"LimitRange":                     `spec: {limits: [{type: Container, max: {cpu: "1"}}]}`,
	"ResourceQuota":                  `spec: {hard: {pods: "10"}}`,
	"PersistentVolumeClaim":          `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
	"PersistentVolume":               `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/x}}`,
	"PodTemplate":                    `template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}`,
	"Pod":                            `spec: {containers: [{name: c, image: registry.example.com/x:1}]}`,
	"ReplicationController":          `spec: {selector: {app: x}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"Deployment":                     `spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"ReplicaSet":                     `spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"DaemonSet":                      `spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"StatefulSet":                    `spec: {serviceName: x, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"Job":                            `spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example.com/x:1}]}}}`,
	"CronJob":                        `spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example.com/x:1}]}}}}}`,
	"HorizontalPodAutoscaler":        `spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, maxReplicas: 2}`,
	"PodDisruptionBudget":            `spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}`,
	"Ingress":                        `spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}`,
	"IngressClass":                   `spec: {controller: example.com/x}`,
	"NetworkPolicy":                  `spec: {podSelector: {}}`,
	"Role":                           `rules: []`,
	"RoleBinding":                    `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}`,
	"ClusterRole":                    `rules: []`,
	"ClusterRoleBinding":             `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}`,
	"PriorityClass":                  `value: 10`,
	"StorageClass":                   `provisioner: example.com/x`,
	"CSIDriver":                      `spec: {attachRequired: false}`,
	"RuntimeClass":                   `handler: x`,
	"Lease":                          `spec: {}`,
	"EndpointSlice":                  "addressType: IPv4\nendpoints: []",
	"KindsGadget":                    `spec: {}`,
	"KindsGizmo":                     `spec: {}`,
	"KindsGauge":                     `spec: {}`,
	"ValidatingWebhookConfiguration": `webhooks: []`,
}

// notEnforced are the kinds that are not enforced, with the reason that is said.
var notEnforced = map[string]string{
	"KindsGauge":                     "Unknown ServedElsewhere",
	"ValidatingWebhookConfiguration": "False NeverAsked",
}

// enforcedWithin is the time within which a policy is enforced after it was applied.
const enforcedWithin = 2 * time.Second

const kindsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.kinds.example.com}
spec:
  group: kinds.example.com
  scope: SCOPE
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND, listKind: KINDList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// aggregated serves one kind beside the API server, and judges nothing.
func aggregated(t *testing.T) {
	t.Helper()
	const group, version = "gauges.example.com", "v1"
	lists := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group + "/" + version,
		APIResources: []metav1.APIResource{{Name: "kindsgauges", SingularName: "kindsgauge", Kind: "KindsGauge", Namespaced: true, Verbs: []string{"create", "update", "get"}}},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/apis/"+group+"/"+version:
			_ = json.NewEncoder(w).Encode(lists)
		case r.Method == http.MethodPost:
			var object map[string]any
			_ = json.NewDecoder(r.Body).Decode(&object)
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(object)
		default:
			http.Error(w, "{}", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, "service/kinds-gauges", "-n", "kinds")
	deleteAfter(t, "apiservice/v1."+group)
	want(t, apply(t, root, `
apiVersion: v1
kind: Service
metadata: {name: kinds-gauges, namespace: kinds}
spec: {type: ExternalName, externalName: localhost, ports: [{port: `+port+`}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.`+group+`}
spec: {group: `+group+`, version: v1, groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: kinds, name: kinds-gauges, port: `+port+`}}
`), true)
	awaitResult(t, func() lab.Result {
		return shared.Kubectl(t.Context(), root, "get", "apiservice/v1."+group, "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status} {.status.conditions}`)
	}, true, "True ")
}

// tried is a kind with its policy.
type tried struct {
	kind, policy string
	gvr          schema.GroupVersionResource
	object       *unstructured.Unstructured
	namespaced   bool
}

// creatable are the kinds of discovery of which there is an object to be made, by name:
// of each the version that the API server prefers.
func creatable(t *testing.T) []tried {
	t.Helper()
	lists, err := shared.Client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []tried
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			body, ok := kindObjects[r.Kind]
			if !ok || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "create") || version.Group == "events.k8s.io" {
				continue
			}
			one := tried{r.Kind, "kinds-" + strings.ToLower(r.Kind), version.WithResource(r.Name), &unstructured.Unstructured{}, r.Namespaced}
			if err := yaml.Unmarshal([]byte(body), &one.object.Object); err != nil {
				t.Fatalf("%s: %v", r.Kind, err)
			}
			if one.object.Object == nil {
				one.object.Object = map[string]any{}
			}
			one.object.SetGroupVersionKind(version.WithKind(r.Kind))
			one.object.SetName("kinds-probe")
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b tried) int { return strings.Compare(a.kind, b.kind) })
	return all
}

func (k *tried) manifest() string {
	kind := k.gvr.Group + "/" + k.gvr.Version + "/" + k.kind
	if k.gvr.Group == "" {
		kind = k.gvr.Version + "/" + k.kind
	}
	return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: ` + k.policy + `}
spec:
  rules:
  - name: owned
    match: {any: [{resources: {kinds: [` + strconv.Quote(kind) + `], names: [kinds-probe]}}]}
    validate: {message: "kinds: an owner is missing", pattern: {metadata: {labels: {owner: "?*"}}}}
`
}

// makes makes the object in a dry run, with further labels.
func (k *tried) makes(ctx context.Context, client dynamic.Interface, labels map[string]string) error {
	object := k.object.DeepCopy()
	object.SetLabels(labels)
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if !k.namespaced {
		_, err := client.Resource(k.gvr).Create(ctx, object, options)
		return err
	}
	object.SetNamespace("kinds")
	_, err := client.Resource(k.gvr).Namespace("kinds").Create(ctx, object, options)
	return err
}

// TestKindsAreEnforced has, for every kind of discovery that the test can make, a policy
// enforced within two seconds of kubectl apply, on two replicas; and none that is
// enforced lets in what it denies. Those that are not say why.
func TestKindsAreEnforced(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "kinds", nil); err != nil {
		t.Fatal(err)
	}
	repository, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct{ plural, scope, kind string }{{"kindsgadgets", "Namespaced", "KindsGadget"}, {"kindsgizmos", "Cluster", "KindsGizmo"}} {
		deleteAfter(t, "crd", d.plural+".kinds.example.com")
		want(t, apply(t, root, strings.NewReplacer("PLURAL", d.plural, "SINGULAR", strings.TrimSuffix(d.plural, "s"), "SCOPE", d.scope, "KIND", d.kind).Replace(kindsDefinition)), true)
	}
	aggregated(t)
	var first *lab.Sallyport
	for _, name := range []string{"kinds-one", "kinds-two"} {
		s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		if first == nil {
			first = s
		}
	}
	if err := shared.WireAdmission(t.Context(), first, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	rules := repository + "/config/wiring/ruleswebhookconfigurations.yaml"
	deleteAfter(t, "-f", rules)
	want(t, shared.Kubectl(t.Context(), root, "apply", "-f", rules), true)
	// What was found out once, such as who leads, is not what is measured.
	want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "kinds-first")), true)
	deleteAfter(t, "clusterpolicy/kinds-first")
	enforced(t, "clusterpolicy/kinds-first", "True", "every replica has it in force")

	config := rest.CopyConfig(shared.Config)
	config.QPS, config.Burst = 500, 500
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all := creatable(t)
	if len(all) < 30+len(notEnforced) {
		t.Fatalf("only %d kinds can be made", len(all))
	}
	fine := 0
	for i := range all {
		k := &all[i]
		if err := k.makes(t.Context(), client, nil); err != nil {
			t.Errorf("%s: without a policy: %v", k.kind, err)
			continue
		}
		deleteAfter(t, "clusterpolicy/"+k.policy)
		want(t, apply(t, root, k.manifest()), true)
		took, says := k.enforced(t, client, time.Now())
		switch reason, listed := notEnforced[k.kind]; {
		case listed && says != reason:
			t.Errorf("%s: %s after %s, want %s", k.kind, says, took, reason)
		case listed:
		case says != "True Asked":
			t.Errorf("%s: %s after %s", k.kind, says, took)
		case took > enforcedWithin:
			t.Logf("%s: enforced only after %s", k.kind, took)
		default:
			fine++
		}
		t.Logf("%s: %s after %s", k.kind, says, took.Round(time.Millisecond))
	}
	if lacking := len(all) - len(notEnforced) - fine; lacking > 2 {
		t.Errorf("%d of %d kinds were not enforced within %s", lacking, len(all)-len(notEnforced), enforcedWithin)
	}
}

// enforced waits until something is said of the policy: what, and when. Once it says
// that it is enforced, the object has to be refused.
func (k *tried) enforced(t *testing.T, client dynamic.Interface, applied time.Time) (took time.Duration, says string) {
	t.Helper()
	policies := client.Resource(schema.GroupVersionResource{Group: "sallyport.io", Version: "v1alpha1", Resource: "clusterpolicies"})
	for {
		o, err := policies.Get(t.Context(), k.policy, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "Enforced" {
				says = fmt.Sprintf("%s %s", m["status"], m["reason"])
			}
		}
		took = time.Since(applied)
		if _, listed := notEnforced[k.kind]; says == "True Asked" || listed && says != "" {
			break
		}
		if took > 4*enforcedWithin {
			return took, says
		}
	}
	if says != "True Asked" {
		return took, says
	}
	if err := k.makes(t.Context(), client, nil); err == nil || !strings.Contains(err.Error(), "an owner is missing") {
		t.Errorf("%s: it is said to be enforced after %s, and lets in what it denies: %v", k.kind, took, err)
	}
	if err := k.makes(t.Context(), client, map[string]string{"owner": "x"}); err != nil {
		t.Errorf("%s: it refuses what it lets in: %v", k.kind, err)
	}
	return took, says
}
