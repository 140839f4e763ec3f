package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// everybodyMay is an Authorizer that allows everything.
type everybodyMay struct{}

func (everybodyMay) Allowed(context.Context, request.User, request.Attributes) (bool, error) {
	return true, nil
}

// withModules are the options of a server that runs modules, with policies.
func withModules(t *testing.T, documents ...string) Options {
	t.Helper()
	engine, err := wasm.NewEngine(context.Background(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	host := runner.NewHost(runner.Options{
		Engine: engine, Fetcher: fetch.New(fetch.Options{}), Context: &contextgate.Gate{Mapper: contextgate.Guess{}},
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	t.Cleanup(func() {
		host.Close()
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := &world{}
	o := options(t, w)
	o.InsecureHTTP = true
	o.Store.Run(host)
	o.Cluster = func(string) (State, error) { return State{Cluster: w, Authorizer: everybodyMay{}}, nil }
	var sources policy.Sources
	for _, document := range documents {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(raw, &meta); err != nil {
			t.Fatal(err)
		}
		if problems := sources.Add(meta.GroupVersionKind(), raw, "policies.yaml"); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	if problems := o.Store.Replace("modules", sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := host.Load(t.Context(), o.Store.Set().ModulePolicies()); err != nil {
		t.Fatal(err)
	}
	return o
}

// answered is what a webhook says of an object.
type answered struct {
	Allowed bool
	Patch   string
	Status  struct {
		Message string
		Code    int
	}
	Warnings         []string
	AuditAnnotations map[string]string
}

// asks puts an object to a webhook.
func asks(t *testing.T, client *http.Client, url, kind, resource string, object []byte) answered {
	t.Helper()
	group := ""
	if kind == "Deployment" {
		group = "apps"
	}
	body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","namespace":"shop","name":"web",
		"kind":{"group":%q,"version":"v1","kind":%q},"resource":{"group":%q,"version":"v1","resource":%q},"userInfo":{"username":"alice"},"object":%s}}`, group, kind, group, resource, object)
	return reviewed(t, client, url, body)
}

func (a *answered) apply(t *testing.T, object []byte) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(a.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := patch.Apply(object)
	if err != nil {
		t.Fatalf("%s to %s: %v", raw, object, err)
	}
	return changed
}

func TestModules(t *testing.T) {
	module := wasmtest.File(t, wasmtest.WaPC(t))
	labels := func(name, label string, more string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  module: file://` + module + `
  mutating: true
  settings: {label: ` + label + `}
  rules: [{apiGroups: ["", apps], apiVersions: [v1], resources: [pods, deployments], operations: [CREATE]}]
` + more
	}
	const kerberos = "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: kerberos}\nspec: {key: kerberos, podAnnotation: {}}"
	_, client, url := running(t, withModules(t, labels("team", "team", ""), kerberos))
	for _, tt := range []struct {
		kind, resource, object string
		marked                 bool
	}{
		{"Pod", "pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"a"}]}}`, false},
		{"Pod", "pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","annotations":{"kerberos":"web"}},"spec":{"containers":[{"name":"a","image":"a"}]}}`, false},
		{"Deployment", "deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"a","image":"a"}]}}}}`, false},
		{"Deployment", "deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{},"template":{"metadata":{"annotations":{"kerberos":"web"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`, true},
	} {
		object := []byte(tt.object)
		changed := asks(t, client, url+"/mutate", tt.kind, tt.resource, object)
		if !changed.Allowed || changed.Patch == "" {
			t.Fatalf("%s: %+v", tt.kind, changed)
		}
		after := changed.apply(t, object)
		if !strings.Contains(string(after), `"team":"set"`) || strings.Contains(string(after), v1alpha1.AnnotationTemplateJudged) != tt.marked {
			t.Errorf("%s became %s", tt.kind, after)
		}
		if judged := asks(t, client, url+"/validate", tt.kind, tt.resource, after); !judged.Allowed {
			t.Errorf("%s: what the mutating webhook made is refused: %+v", tt.kind, judged)
		}
		if again := asks(t, client, url+"/mutate", tt.kind, tt.resource, after); !again.Allowed || again.Patch != "" {
			t.Errorf("%s is changed once more: %+v", tt.kind, again)
		}
		judged := asks(t, client, url+"/validate", tt.kind, tt.resource, object)
		if judged.Allowed || !strings.Contains(judged.Status.Message, "metadata.labels") {
			t.Errorf("%s: without the mutating webhook: %+v", tt.kind, judged)
		}
	}
}

// TestModulesChangeNothingWhereNothingIsRefused: who observes expects no changes; what a
// module would have changed is said where the object is judged.
func TestModulesChangeNothingWhereNothingIsRefused(t *testing.T) {
	o := withModules(t, `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: team}
spec:
  module: file://`+wasmtest.File(t, wasmtest.WaPC(t))+`
  mutating: true
  settings: {label: team}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
`)
	o.Observe = true
	_, client, url := running(t, o)
	pod := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
	if got := asks(t, client, url+"/mutate", "Pod", "pods", pod); !got.Allowed || got.Patch != "" {
		t.Errorf("it is changed: %+v", got)
	}
	got := asks(t, client, url+"/validate", "Pod", "pods", pod)
	if !got.Allowed || !strings.Contains(got.AuditAnnotations["policies"], "ClusterAdmissionPolicy/team/validate=pass") || got.AuditAnnotations["decision"] != "allow" {
		t.Errorf("%+v", got)
	}
}

// TestModuleRefuses says what of a module's answer reaches whoever asked.
func TestModuleRefuses(t *testing.T) {
	module := wasmtest.File(t, wasmtest.WaPC(t))
	_, client, url := running(t, withModules(t, `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: network}
spec:
  module: file://`+module+`
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
`))
	bad := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"hostNetwork":true,"containers":[{"name":"a","image":"a"}]}}`)
	got := asks(t, client, url+"/validate", "Pod", "pods", bad)
	if got.Allowed || got.Status.Code != 400 || !strings.Contains(got.Status.Message, "host network is not allowed") || !strings.Contains(got.Status.Message, "ClusterAdmissionPolicy network") {
		t.Errorf("%+v", got)
	}
	if strings.Join(got.Warnings, "") != "careful" && !strings.Contains(strings.Join(got.Warnings, ""), "careful") {
		t.Errorf("warnings %q", got.Warnings)
	}
	if got.AuditAnnotations["network.why"] != "network" || got.AuditAnnotations["policies"] != "ClusterAdmissionPolicy/network/validate=fail" {
		t.Errorf("audit annotations %v", got.AuditAnnotations)
	}
	if got = asks(t, client, url+"/mutate", "Pod", "pods", bad); got.Patch != "" {
		t.Errorf("what refuses changes: %+v", got)
	}
}
