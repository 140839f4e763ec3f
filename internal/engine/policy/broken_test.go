package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// started is a store after a start at which the API server held these objects.
func started(t testing.TB, documents ...string) (*Store, *Feed) {
	t.Helper()
	store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
	feed := NewFeed(store)
	feed.Take(asStored(t, documents...))
	return store, feed
}

// stored are objects as the API server gives them.
func asStored(t testing.TB, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetUID() == "" {
			object.SetUID(objectUID(object))
		}
		if object.GetResourceVersion() == "" {
			object.SetResourceVersion("1")
		}
		objects = append(objects, object)
	}
	return objects
}

func objectUID(o *unstructured.Unstructured) types.UID {
	return types.UID(o.GetKind() + o.GetNamespace() + o.GetName())
}

func yamlOf(kind, name, rest string) string {
	namespace := ""
	if before, after, ok := strings.Cut(name, "/"); ok {
		namespace, name = ", namespace: "+before, after
	}
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: %s\nmetadata: {name: %s%s}\n%s\n", kind, name, namespace, rest)
}

const (
	configMaps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"
	shopPod    = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: app, image: app:1}]}\n"
	otherPod   = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: other}\nspec: {containers: [{name: app, image: app:1}]}\n"
	shopWeb    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: {containers: [{name: app, image: app:1}]}}}\n"
	ownObject  = "apiVersion: sallyport.io/v1alpha1\nkind: PolicyServer\nmetadata: {name: x}\nspec: {image: a}\n"
)

// TestBrokenIsAnswered asks after a start with one broken object what is refused,
// let in with a warning, and passed.
func TestBrokenIsAnswered(t *testing.T) {
	state := identityCluster(t)
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	ask := map[string]*request.Request{
		"exec":       exec(state, "shop", "plain"),
		"log":        access1(state, "log", "shop", "plain"),
		"get":        access1(state, "", "shop", "plain"),
		"delete ns":  {Time: judgedAt, Door: request.Access, Verb: "delete", Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Name: "shop", Namespace: "shop", User: request.User{Name: "alice"}, Cluster: state},
		"delete own": {Time: judgedAt, Door: request.Access, Verb: "delete", Resource: schema.GroupVersionResource{Group: "sallyport.io", Version: "v1alpha1", Resource: "denypolicies"}, Name: "x", User: request.User{Name: "alice"}, Cluster: state},
		"pod":        created(t, state, pods, "pods", shopPod),
		"other":      created(t, state, pods, "pods", otherPod),
		"deployment": created(t, state, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", shopWeb),
		"configmap":  created(t, state, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", configMaps),
		"lease":      created(t, state, schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, "leases", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a, namespace: shop}\n"),
		"own":        created(t, state, schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: "PolicyServer"}, "policyservers", ownObject),
		"crd":        created(t, state, schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "customresourcedefinitions", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: denypolicies.sallyport.io}\n"),
		"claimed":    asked(t, state, stranger, "pods", "", "", podYAML("new", claimed, "app:1")),
		"unclaimed":  asked(t, state, stranger, "pods", "", "", podYAML("new", "a: b", "app:1")),
		"token":      asked(t, state, stranger, "serviceaccounts", "token", "", "apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: app, namespace: shop}\nspec: {audiences: [x]}"),
	}
	ask["exec other"] = exec(clusterOf(t, podNamed("other", "web", nil), namespace("other", nil)), "other", "web")
	const (
		allOfAPod  = "exec, log, exec other"
		everything = "pod, other, deployment, configmap, claimed, unclaimed, token"
		anyPod     = "exec, pod, other, deployment, claimed, unclaimed, token, exec other"
	)
	for _, c := range []struct{ name, document, refused, warned, says string }{
		// DenyPolicy
		{"a DenyPolicy with a rule of an unknown field", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces], nameSpaces: [shop]}]}`), "delete ns", "", "rules[0].nameSpaces"},
		{"a DenyPolicy with a name that nobody asks for", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pod]}]}`), "exec, log, exec other, get, pod, other, configmap, claimed, unclaimed, token", "", "pods"},
		{"a DenyPolicy whose resources are not a list", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: namespaces}]}`), "delete ns", "", "resources"},
		{"a DenyPolicy with a rule that is a string", yamlOf("DenyPolicy", "x", `spec: {rules: [all]}`), allOfAPod, "", "rules[0]"},
		{"a DenyPolicy whose template does not compile", yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {thresholds: [{maxScore: 1, action: allow, reason: "{{.nothing}}"}]}}`), "exec, exec other", "", "reason"},
		{"one whose exemption holds", yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {exemptions: {namespaces: [other]}, appliesTo: {subresources: [log, exec]}, thresholds: [{maxScore: 1, action: perhaps}]}}`), "exec, log", "", "perhaps"},
		{"one whose exemption cannot be read", yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {exemptions: {namespaces: ["OTHER NS"]}, thresholds: [{maxScore: 1, action: allow}]}}`), "exec, exec other", "", "exemptions"},
		{"one with failMode open", yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {failMode: open, thresholds: [{maxScore: 1, action: perhaps}]}}`), "", "exec, exec other", "failMode open"},
		{"one for another cluster", yamlOf("DenyPolicy", "x", `spec: {appliesTo: {clusters: [test]}, podSecurityRules: {thresholds: [{maxScore: 1, action: perhaps}]}}`), "", "", ""},
		{"a DenyPolicy whose subresources cannot be read", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [3]}]}`), "exec, log, exec other, get, pod, other, claimed, unclaimed", "", "subresources"},
		{"a DenyPolicy whose subresources can be read", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec], nameSpaces: [shop]}]}`), "exec, exec other, get, pod, other, claimed, unclaimed", "", "nameSpaces"},
		{"a DenyPolicy whose resources cannot be read, and its subresources can", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [create], apiGroups: [""], resources: [3], subresources: [exec]}]}`), "exec, log, exec other, get, pod, other, configmap, claimed, unclaimed, token", "", "resources"},
		{"a DenyPolicy about everything that can be read of it", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: ["*"], apiGroups: ["*"], resources: [3]}]}`), allOfAPod + ", get, delete ns, " + everything, "", "resources"},
		{"a DenyPolicy about everything by name", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], nameSpaces: [shop]}]}`), allOfAPod + ", get, delete ns, lease, " + everything, "", "nameSpaces"},
		{"a DenyPolicy without a spec", yamlOf("DenyPolicy", "x", ``), allOfAPod, "", "spec"},
		{"a DenyPolicy whose spec is null", yamlOf("DenyPolicy", "x", `spec: null`), allOfAPod, "", "spec"},
		{"a DenyPolicy whose spec is a string", yamlOf("DenyPolicy", "x", `spec: later`), allOfAPod, "", "spec"},
		{"a DenyPolicy with an unknown field", yamlOf("DenyPolicy", "x", `spec: {podSecurityRule: {}, rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`), "exec, log, exec other, delete ns", "", "podSecurityRule"},
		{"a DenyPolicy whose rules are not a list", yamlOf("DenyPolicy", "x", `spec: {rules: 3, podSecurityRules: {thresholds: [{maxScore: 1, action: perhaps}]}}`), allOfAPod, "", "rules"},
		{"a DenyPolicy that says nothing", yamlOf("DenyPolicy", "x", `spec: {}`), allOfAPod, "", "spec"},
		{"a DenyPolicy with no rule in its list", yamlOf("DenyPolicy", "x", `spec: {rules: []}`), allOfAPod, "", "spec"},
		{"a DenyPolicy whose verbs cannot be read", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [3], apiGroups: [""], resources: [namespaces]}]}`), "delete ns", "", "verbs"},
		{"a DenyPolicy whose rule is right, with a null in it", yamlOf("DenyPolicy", "x", `spec: {precedence: first, rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: null}]}`), "get, pod, other, claimed, unclaimed", "", "precedence"},
		{"a DenyPolicy without subresources", yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], nameSpaces: [shop]}]}`), "get, pod, other, claimed, unclaimed", "", "nameSpaces"},
		{"a DenyPolicy whose ways in are null", yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {appliesTo: null, thresholds: [{maxScore: 1, action: perhaps}]}}`), allOfAPod, "", "perhaps"},

		// ClusterPolicy and Policy
		{"a ClusterPolicy whose operator is wrong", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`), "pod, other, deployment, claimed, unclaimed", "", "expression"},
		{"in one namespace", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [other]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`), "other", "", "expression"},
		{"except for one namespace", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {namespaces: [shop]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`), "other", "", "expression"},
		{"with an exclusion that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {nameSpaces: [shop]}}]}, validate: {pattern: {spec: {x: y}}}}]}`), "pod, other, deployment, claimed, unclaimed", "", "nameSpaces"},
		{"with a selector that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap], selector: {matchExpressions: [{key: a, operator: Near}]}}}]}, validate: {pattern: {data: {x: y}}}}]}`), "configmap", "", "operator"},
		{"with kinds that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [3], namespaces: [other]}}]}, validate: {pattern: {data: {x: y}}}}]}`), "other", "", "kinds"},
		{"about what keeps the cluster together", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Lease]}}]}, validate: {}}]}`), "lease", "", "validate"},
		{"with every kind", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: ["*"]}}]}, validate: {pattern: 3}}]}`), "pod, other, deployment, configmap, claimed, unclaimed", "", "pattern"},
		{"with a match that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: pods, validate: {pattern: {data: {x: y}}}}]}`), everything, "", "match"},
		{"with all and a broken one among them", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {all: [{resources: {kinds: [Pod]}}, {resources: {nameSpaces: [other]}}]}, validate: {pattern: {data: {x: y}}}}]}`), "pod, other, deployment, claimed, unclaimed", "", "nameSpaces"},
		{"with action Audit", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: Audit, rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {}}]}`), "", "", "validate"},
		{"with action Warn", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: Warn, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {}}]}`), "", "configmap", "Warn"},
		{"with an action that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: Audti, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {}}]}`), "configmap", "", "Audti"},
		{"with failurePolicy Ignore", yamlOf("ClusterPolicy", "x", `spec: {failurePolicy: Ignore, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {}}]}`), "", "configmap", "failurePolicy Ignore"},
		{"with an action, and overrides that cannot be read", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: Audit, validationFailureActionOverrides: 3, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {}}]}`), "configmap", "", "validationFailureActionOverrides"},
		{"with an action, and an override that cannot work", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: Audit, validationFailureActionOverrides: [{action: Warn, namespaces: []}], rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {}}]}`), "configmap", "", "validationFailureActionOverrides"},
		{"with an action that is empty", yamlOf("ClusterPolicy", "x", `spec: {validationFailureAction: "", failurePolicy: Never, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {pattern: {data: {x: y}}}}]}`), "configmap", "", "failurePolicy"},
		{"with a kind that is not a list, and its name", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: ConfigMap, name: settings}}]}, validate: {pattern: {data: {x: y}}}}]}`), "configmap", "", "kinds"},
		{"with a kind that is not a list, and another name", yamlOf("ClusterPolicy", "x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: ConfigMap, name: others}}]}, validate: {pattern: {data: {x: y}}}}]}`), "", "", ""},
		{"without a spec", yamlOf("ClusterPolicy", "x", ``), everything, "", "spec"},
		{"with a spec that is a list", yamlOf("ClusterPolicy", "x", `spec: [a]`), everything, "", "spec"},
		{"without rules", yamlOf("ClusterPolicy", "x", `spec: {}`), everything, "", "rules"},
		{"a Policy without a spec", yamlOf("Policy", "shop/x", ``), "pod, deployment, configmap, claimed, unclaimed, token", "", "spec"},
		{"a Policy about another namespace", yamlOf("Policy", "shop/x", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [other]}}]}, validate: {pattern: {spec: {x: y}}}}]}`), "", "", ""},

		// Modules
		{"a module with an unknown field", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], sidewards: true}`), "configmap", "", "sidewards"},
		{"a module with a bad condition", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], matchConditions: [{name: a, expression: "("}]}`), "configmap", "", "matchConditions"},
		{"a module with a selector that cannot work", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], objectSelector: {matchExpressions: [{key: a, operator: Near}]}}`), "configmap", "", "objectSelector"},
		{"a module with a bad and a good condition", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], matchConditions: [{name: a, expression: "("}, {name: b, expression: "false"}]}`), "", "", ""},
		{"a module whose resources cannot be read", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [apps], apiVersions: [v1], resources: [3], operations: [CREATE]}]}`), "deployment", "", "resources"},
		{"a module in mode monitor", yamlOf("ClusterAdmissionPolicy", "x", `spec: {mode: monitor, module: "", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`), "", "", "module"},
		{"a module about what keeps the cluster together", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "", rules: [{apiGroups: [coordination.k8s.io], apiVersions: [v1], resources: [leases], operations: [CREATE]}]}`), "lease", "", "module"},
		{"a module with a rule that is a string", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [all]}`), everything, "", "rules"},
		{"a module with a rule of empty lists", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: []}]}`), "configmap", "", "operations"},
		{"a module with a condition that is none", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], matchConditions: [3]}`), "configmap", "", "matchConditions"},
		{"a module with a selector that is none", yamlOf("ClusterAdmissionPolicy", "x", `spec: {module: "file:///a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}], objectSelector: 3}`), "configmap", "", "objectSelector"},
		{"a module with failurePolicy Ignore", yamlOf("ClusterAdmissionPolicy", "x", `spec: {failurePolicy: Ignore, module: "", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`), "", "configmap", "failurePolicy Ignore"},
		{"a module without a spec", yamlOf("ClusterAdmissionPolicy", "x", ``), everything, "", "spec"},
		{"a module of a namespace without a spec", yamlOf("AdmissionPolicy", "other/x", ``), "other", "", "spec"},

		// IdentitySource
		{"an IdentitySource with an unknown field in its way", yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {nme: a}}`), anyPod, "", "nme"},
		{"one with a bad reviewForm", yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {}, reviewForm: Later}`), "claimed", "", "reviewForm"},
		{"one with a bad key", yamlOf("IdentitySource", "x", `spec: {key: "a b", podAnnotation: {name: kerberos}}`), "claimed", "", "key"},
		{"one without a spec", yamlOf("IdentitySource", "x", ``), anyPod, "", "spec"},
		{"one of an unknown way", yamlOf("IdentitySource", "x", `spec: {key: kerberos, workload: {}}`), anyPod, "", "workload"},
		{"one of two ways", yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {}, csiVolume: {driver: csi.example.com}}`), anyPod, "", "csiVolume"},
		{"one with an unknown field beside its way", yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {}, keys: []}`), anyPod, "", "keys"},
		{"one with a bad key, whose way has no name of it", yamlOf("IdentitySource", "x", `spec: {key: "a b", csiVolume: {driver: csi.example.com}}`), "", "", ""},
		{"one with a bad key, after which its way is called", yamlOf("IdentitySource", "x", `spec: {key: "a b", podAnnotation: {}}`), anyPod, "", "key"},
		{"one with a key that cannot be read", yamlOf("IdentitySource", "x", `spec: {key: 3, podAnnotation: {}}`), anyPod, "", "key"},
		{"one without a key", yamlOf("IdentitySource", "x", `spec: {podAnnotation: {}}`), anyPod, "", "key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := started(t, c.document)
			set := store.Set()
			if len(set.Broken()) != 1 {
				t.Fatalf("broken are %v; want the object", set.Broken())
			}
			refused, warned := split(c.refused), split(c.warned)
			for name, r := range ask {
				d := set.Decide(t.Context(), r)
				switch {
				case d.Refuses() != refused[name]:
					t.Errorf("%s: refused is %v; %s", name, d.Refuses(), messages(d))
				case !refused[name] && (d.Verdict == decision.AllowWarning) != warned[name]:
					t.Errorf("%s: the verdict is %s; %s", name, d.Verdict, messages(d))
				}
				if !refused[name] && !warned[name] {
					continue
				}
				reason := decision.Reason("this", &d, 4000) + messages(d)
				for _, part := range []string{c.says, "cannot work as it is stored"} {
					if !strings.Contains(reason, part) {
						t.Errorf("%s: it says %q, without %q", name, reason, part)
					}
				}
				if refused[name] && !strings.Contains(reason, "corrected or deleted by those who may write it") {
					t.Errorf("%s: it does not say who mends it: %s", name, reason)
				}
			}
		})
	}
}

func split(list string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.SplitSeq(list, ", ") {
		names[name] = name != ""
	}
	return names
}
