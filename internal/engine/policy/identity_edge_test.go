package policy

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// withAccount has what runs as app run as another account.
func withAccount(text, account string) string {
	return strings.Replace(text, "serviceAccountName: app", "serviceAccountName: "+account, 1)
}

// TestIdentityWritesOnTheEdge writes pods, Bindings and templates that cannot be judged,
// or in ways that the API server hardly ever passes on.
func TestIdentityWritesOnTheEdge(t *testing.T) {
	const (
		unjudged, field = "identities/use error", v1alpha1.AnnotationValidatedAnnotations
		used            = "kerberos/use fail"
	)
	many, annotations := manySources("podAnnotation: {name: NAME}")
	half := strings.Split(annotations, ", ")
	first, second := strings.Join(half[:40], ", "), strings.Join(half[40:], ", ")
	state := clusterOf(t, append(identityObjects(),
		podNamed("shop", "odd", func(p *corev1.Pod) { p.Annotations = map[string]string{field: "x"} }),
		podNamed("shop", "written", func(p *corev1.Pod) { p.Annotations = map[string]string{field: `[{"kerberos":"legacy-frontend-app"}]`} }),
		podNamed("shop", "full", func(p *corev1.Pod) {
			p.Annotations = map[string]string{}
			for _, one := range half[:40] {
				p.Annotations[strings.TrimSuffix(one, ": x")] = "x"
			}
		}))...)
	binding := func(name, annotations string) string {
		return "apiVersion: v1\nkind: Binding\nmetadata: {name: " + name + ", namespace: shop, annotations: {" + annotations + "}}\ntarget: {kind: Node, name: node-1}\n"
	}
	unknownBefore := func(r *request.Request) { r.OldObject = nil }
	created := func(r *request.Request) { r.Operation = request.Create }
	claimedPod, plainPod, plain := podYAML("app", claimed, "app:1"), podYAML("app", "", "app:1"), deploymentYAML("", claimed, "app:1")
	crowded := deploymentYAML("", annotations, "app:1")
	stamp := identity.Signature(nil, "shop", []identity.Claim{{Key: "many-64", Value: "x"}})
	for _, c := range []struct {
		name, resource, old, document string
		sources                       []string
		change                        func(*request.Request)
		want, says                    string
	}{
		{"a pod that is updated from something unknown", "pods", claimedPod, claimedPod, identitySources, unknownBefore, unjudged, "as it was before"},
		{"a pod whose identities could not be told before", "pods", podYAML("app", field+": x", "app:1"), plainPod, identitySources, nil, unjudged, "before the update, "},
		{"a pod whose identities are not known after", "pods", plainPod, podYAML("app", field+": x", "app:1"), identitySources, nil, unjudged, ""},
		{"a pod with a claim, where no source reads accounts", "pods", claimedPod, podYAML("app", claimed, "app:2"), identitySources[:1], nil, used, ""},
		{"a pod whose account is gone, with another image", "pods", withAccount(plainPod, "gone"), withAccount(podYAML("app", "", "app:2"), "gone"), identitySources, nil, unjudged, "cannot be read"},
		{"a pod that runs as another account", "pods", plainPod, withAccount(plainPod, "gcs"), identitySources, nil, "gke/immutable fail, gke/use fail", ""},

		{"a Binding whose identities are not known", "bindings", "", binding("plain", field+": x"), identitySources, nil, unjudged, ""},
		{"a Binding that hides what the pod carries", "bindings", "", binding("written", field+`: "[]"`), identitySources, nil, "kerberos/immutable fail", "cannot take identities"},
		{"a Binding, without a cluster", "bindings", "", binding("plain", claimed), identitySources, func(r *request.Request) { r.Cluster = nil }, unjudged, "there is no cluster"},
		{"a Binding of a pod that is not there", "bindings", "", binding("gone", claimed), identitySources, nil, unjudged, "pod shop/gone is not there"},
		{"a Binding of a pod whose identities are not known", "bindings", "", binding("odd", claimed+", "+field+`: "[]"`), identitySources, nil, unjudged, "of the pod that is bound, "},
		{"a Binding with too many", "bindings", "", binding("plain", annotations), many, nil, unjudged, "more than 64"},
		{"a Binding with which there are too many", "bindings", "", binding("full", second), many, nil, unjudged, "more than 64"},

		{"a template that is created, whatever is said to have been there", "deployments", plain, plain, identitySources, created, used, ""},
		{"a template that is updated from something unknown", "deployments", plain, plain, identitySources, unknownBefore, used, ""},
		{"a template whose identities are not known", "deployments", "", deploymentYAML("", field+": x", "app:1"), identitySources, nil, unjudged, ""},
		{"a template that loses something else", "deployments", deploymentYAML("", claimed+", a: b", "app:1"), plain, identitySources, nil, used, ""},
		{"a template that loses one of several identities", "deployments", deploymentYAML("", first+", many-64: x", "app:1"), deploymentYAML("", "many-64: x", "app:1"), many, nil, "", ""},
		{"a template that loses an identity and something else", "deployments", withAccount(deploymentYAML("", claimed+", a: b", "app:1"), "gcs"), withAccount(deploymentYAML("", "", "app:1"), "gcs"), identitySources, nil, "gke/use fail", ""},
		{"a template that loses one of too many, and is marked", "deployments", crowded, deploymentYAML(", annotations: {sallyport.io/template-judged: "+stamp+"}", "many-64: x", "app:1"), many, nil, unjudged, "before the update, "},
		{"a template that loses one of several, was not judged, and is marked", "deployments", deploymentYAML("", first+", many-64: x", "app:1"), deploymentYAML(", annotations: {sallyport.io/template-judged: "+stamp+"}", "many-64: x", "app:1"), many, nil, "many-64/use fail", ""},

		{"a replication controller gets an identity", "replicationcontrollers", makerYAML("v1", "ReplicationController", "web", "", "", "app:1"), makerYAML("v1", "ReplicationController", "web", "", claimed, "app:1"), identitySources, nil, used, ""},
		{"a certificate request is updated", "podcertificaterequests", certText, certText + "status: {}\n", []string{certSource}, nil, "", ""},
		{"another request for a certificate", "certificatesigningrequests", "", "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: r}\nspec: {signerName: example.com/workload}\n", []string{certSource}, nil, "", ""},
		{"a token of something else", "widgets", "", tokenText, identitySources, func(r *request.Request) { r.Subresource, r.Resource.Group = "token", "" }, "", ""},
		{"a token of another group's accounts", "serviceaccounts", "", tokenText, identitySources, func(r *request.Request) { r.Subresource, r.Resource.Group = "token", "example.com" }, "", ""},
		{"something else of an account", "serviceaccounts", "", tokenText, identitySources, func(r *request.Request) { r.Subresource, r.Resource.Group = "status", "" }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, c.resource, "", c.old, c.document)
			if c.change != nil {
				c.change(r)
			}
			d := setOf(t, c.sources...).Decide(t.Context(), r)
			if got := summary(d); got != c.want || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q, want %q with %q: %s", got, c.want, c.says, messages(d))
			}
			if d.Refuses() != (c.want != "") {
				t.Error(d.Verdict)
			}
		})
	}
}

// TestIdentityKindsOfOtherGroups reads kinds of custom groups by their group, however
// they are called.
func TestIdentityKindsOfOtherGroups(t *testing.T) {
	state := identityCluster(t)
	for _, kind := range []string{"Pod", "Binding", "ServiceAccount", "Secret", "PodCertificateRequest"} {
		t.Run(kind, func(t *testing.T) {
			set := setOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: custom}\nspec: {key: custom, field: {kinds: [{group: example.com, kind: "+kind+", paths: [spec.identity]}]}}")
			text := func(identity string) string {
				return fmt.Sprintf("apiVersion: example.com/v1\nkind: %s\nmetadata: {name: x, namespace: shop}\nspec: {identity: %s}\n", kind, identity)
			}
			r := asked(t, state, stranger, "customs", "", text("a"), text("b"))
			if d := set.Decide(t.Context(), r); summary(d) != "custom/use fail" {
				t.Errorf("%q: %s", summary(d), messages(d))
			}
			if !set.Marks(r) {
				t.Error("is not marked")
			}
		})
	}
}

// TestIdentityMarksThatAreSeenTo says what the mutating webhook looks at.
func TestIdentityMarksThatAreSeenTo(t *testing.T) {
	state := identityCluster(t)
	plain := deploymentYAML("", claimed, "app:1")
	exempting := setOf(t, strict)
	for _, c := range []struct {
		name, document string
		set            *Set
		change         func(*request.Request)
		want           bool
	}{
		{"a new template", plain, identitySet(t), nil, true},
		{"a template that is updated", plain, identitySet(t), func(r *request.Request) { r.Operation, r.OldObject = request.Update, r.Object }, true},
		{"a replication controller", makerYAML("v1", "ReplicationController", "web", "", claimed, "app:1"), identitySet(t), nil, true},
		{"a policy that a source finds identities in", strict, setOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: own}\nspec: {key: own, field: {kinds: [{group: sallyport.io, kind: DenyPolicy, paths: [spec.identity]}]}}"), nil, false},
		{"for labels that exempt only", plain, exempting, nil, true},
		{"where nothing is guarded", plain, setOf(t), nil, false},
		{"at the access door", plain, identitySet(t), func(r *request.Request) { r.Door = request.Access }, false},
		{"without an object", plain, identitySet(t), func(r *request.Request) { r.Object = nil }, false},
		{"of a subresource", plain, identitySet(t), func(r *request.Request) { r.Subresource = "status" }, false},
		{"that is deleted", plain, identitySet(t), func(r *request.Request) { r.Operation = request.Delete }, false},
		{"a pod", podYAML("app", claimed, "app:1"), identitySet(t), nil, false},
		{"what makes no pods", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: shop}\n", identitySet(t), nil, false},
		{"a policy", strict, identitySet(t), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, "any", "", "", c.document)
			if c.change != nil {
				c.change(r)
			}
			if got := c.set.Marks(r); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
	t.Run("what cannot be judged is left as it is", func(t *testing.T) {
		odd := deploymentYAML(marked(frontend), v1alpha1.AnnotationValidatedAnnotations+": x", "app:1")
		if patch := identitySet(t).Mark(t.Context(), asked(t, state, stranger, "deployments", "", "", odd)); patch != nil {
			t.Errorf("%s", patch)
		}
	})
}

// TestIdentityAcknowledgedOnTheEdge asks for the right to acknowledge where it cannot be
// found out, or no one is known to have it.
func TestIdentityAcknowledgedOnTheEdge(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	plain, right := deploymentYAML("", claimed, "app:1"), deploymentYAML(marked(frontend), claimed, "app:1")
	for _, c := range []struct {
		name, user string
		authorizer request.Authorizer
		want, says string
	}{
		{"the authorizer fails", "root", unreadable{}, "identities/use error", "may acknowledge templates cannot be found out"},
		{"there is no authorizer", "root", nil, "identities/use error", ""},
		{"no one is known to ask", "", nil, "kerberos/use skip", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, c.user, "deployments", "", plain, right)
			r.Authorizer = c.authorizer
			d := set.Decide(t.Context(), r)
			if got := summary(d); got != c.want || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q, want %q with %q: %s", got, c.want, c.says, messages(d))
			}
		})
	}
	t.Run("by whoever may act as it", func(t *testing.T) {
		asks := 0
		r := asked(t, state, holder, "deployments", "", plain, right)
		r.Authorizer = authorizerFunc(func(_ request.User, a request.Attributes) bool {
			if a.Verb == identityrule.VerbAcknowledge {
				asks++
			}
			return a.Verb == "use"
		})
		if d := set.Decide(t.Context(), r); d.Refuses() || asks > 0 || !strings.Contains(messages(d), "may act as") {
			t.Errorf("%d: %s", asks, messages(d))
		}
	})
	t.Run("by the controller of an owner that was judged", func(t *testing.T) {
		owner := strings.Replace(deploymentYAML(marked(frontend), claimed, "app:1"), "namespace: shop", "namespace: shop, uid: owner", 1)
		owned := owned{identityCluster(t), map[string]string{"Deployment shop/web": owner}}
		of := func(meta string) string {
			return makerYAML("apps/v1", "ReplicaSet", "web-1", ownerRef("apps/v1", "Deployment", "web", "owner")+meta, claimed, "app:1")
		}
		d := set.Decide(t.Context(), asked(t, owned, kubeSystem+"deployment-controller", "replicasets", "", of(""), of(marked(frontend))))
		if d.Refuses() || !strings.Contains(messages(d), "marks it as the template of Deployment shop/web is marked") {
			t.Error(messages(d))
		}
	})
}

// TestIdentityTemplatesThatGo takes one of several templates away from an object that
// makes pods of each.
func TestIdentityTemplatesThatGo(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Many"}
	registry, err := pod.NewRegistry(pod.Registration{Group: gvk.Group, Kind: gvk.Kind, Paths: []string{"spec.templates[*]"}})
	if err != nil {
		t.Fatal(err)
	}
	set, problems := Compile(sourcesOf(t, identitySources...), registry, exception.Options{Began: judgedAt})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const template = "{metadata: {annotations: {kerberos: legacy-frontend-app}}, spec: {serviceAccountName: app, containers: [{name: app, image: app:1}]}}"
	of := func(templates string) *pod.Object {
		raw, err := yaml.YAMLToJSON([]byte("apiVersion: example.com/v1\nkind: Many\nmetadata: {name: x, namespace: shop}\nspec: {templates: [" + templates + "]}"))
		if err != nil {
			t.Fatal(err)
		}
		object, err := registry.Decode(gvk, raw)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	r := asked(t, identityCluster(t), stranger, "manies", "", "", deploymentYAML("", claimed, "app:1"))
	r.Kind, r.Operation, r.OldObject, r.Object = gvk, request.Update, of(template+", "+template), of(template)
	if d := set.Decide(t.Context(), r); summary(d) != "kerberos/use fail" {
		t.Errorf("%q: %s", summary(d), messages(d))
	}
}

// TestBrokenIdentitiesLetNodesAsk gives a node the tokens of its pods also where a
// source cannot work, and says nothing in its name.
func TestBrokenIdentitiesLetNodesAsk(t *testing.T) {
	store, _ := started(t, yamlOf("IdentitySource", "x", `spec: {key: x, projectedToken: {audience: vault}, reviewForm: Later}`))
	r := asked(t, identityCluster(t), "", "serviceaccounts", "token", "", strings.Replace(tokenText, "spec: {", "spec: {boundObjectRef: {kind: Pod, apiVersion: v1, name: gcs, uid: pod-gcs}, ", 1))
	r.User = request.User{Name: stranger}
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() {
		t.Error("a stranger is let in")
	}
	r.User = request.User{Name: "system:node:node-1", Groups: []string{"system:nodes"}}
	if d := store.Set().Decide(t.Context(), r); len(d.Results) > 0 {
		t.Errorf("%+v", d.Results)
	}
}

// TestBrokenIdentitiesAreNotExcused refuses what would change the identities of a pod,
// where their source cannot work, whatever an exception says.
func TestBrokenIdentitiesAreNotExcused(t *testing.T) {
	store, _ := started(t, yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {}, reviewForm: Later}`),
		yamlOf("PolicyException", "shop/bypass", `spec: {exceptions: [{policyName: x, policyKind: IdentitySource}], match: {any: [{resources: {kinds: [Pod]}}]}}`))
	r := asked(t, identityCluster(t), stranger, "pods", "", podYAML("app", "", "app:1"), podYAML("app", claimed, "app:1"))
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() || len(d.Results) != 1 || !d.Results[0].FailClosed {
		t.Errorf("%+v", d.Results)
	}
	// Another identity in place of one is said once.
	r = asked(t, identityCluster(t), stranger, "pods", "", podYAML("app", claimed, "app:1"), podYAML("app", strings.Replace(claimed, "frontend", "backend", 1), "app:1"))
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() || len(d.Results) != 1 {
		t.Errorf("%+v", d.Results)
	}
	// What lets someone run something in the pod beside is said once with it.
	r = asked(t, identityCluster(t), stranger, "pods", "", podYAML("app", claimed, "app:1"), podYAML("app", "", "app:2"))
	if d := store.Set().Decide(t.Context(), r); !d.Refuses() || len(d.Results) != 1 {
		t.Errorf("%+v", d.Results)
	}
}

// TestBrokenIdentitiesOfTemplates goes by no mark where a source cannot work, and keeps
// the marks of those that do.
func TestBrokenIdentitiesOfTemplates(t *testing.T) {
	broken, _ := started(t, yamlOf("IdentitySource", "x", `spec: {key: kerberos, podAnnotation: {}, reviewForm: Later}`))
	owned := owned{identityCluster(t), map[string]string{"ReplicaSet shop/web": makerYAML("apps/v1", "ReplicaSet", "web", ", uid: owner"+marked(frontend), claimed, "app:1")}}
	pod := childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), claimed)
	if d := broken.Set().Decide(t.Context(), asked(t, owned, kubeSystem+"replicaset-controller", "pods", "", "", pod)); !d.Refuses() {
		t.Errorf("a pod of a marked template: %+v", d.Results)
	}
	beside, _ := started(t, identitySources[0], yamlOf("IdentitySource", "x", `spec: {key: other, podAnnotation: {name: other}, reviewForm: Later}`))
	template := deploymentYAML(marked(frontend), claimed, "app:1")
	if d := beside.Set().Decide(t.Context(), asked(t, owned, holder, "deployments", "", "", template)); d.Refuses() || len(d.Results) != 1 {
		t.Errorf("a template with the mark of another source: %+v", d.Results)
	}
}
