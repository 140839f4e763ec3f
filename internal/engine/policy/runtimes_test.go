package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/regoguest"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// runtimeCall is a policy of a runtime that reads the Namespace shop, or all of them,
// or asks what somebody may do.
type runtimeCall struct {
	runtime, call string
	// module is an address, and settings are those that have it make the call; without a
	// module, rule is an expression.
	module, settings, rule string
}

func runtimeCalls(t *testing.T) (fetched, []runtimeCall) {
	t.Helper()
	const wapc, wasi, rego = "https://modules.example/wapc.wasm", "https://modules.example/wasi.wasm", "https://modules.example/rego.wasm"
	compiled, err := regoguest.CompileFile(t.Context(), "../../wasm/testdata/guests/rego/opa.rego", "policy/main")
	if err != nil {
		t.Fatal(err)
	}
	built := fetched{
		wapc: wasmtest.Any(t), wasi: wasmtest.WASI(t),
		rego: wasmtest.Annotated(t, compiled, "rules: []\nmutating: false\nexecutionMode: opa\n"),
	}
	call := func(operation, payload string) string {
		return fmt.Sprintf(`{calls: [{namespace: kubernetes, operation: %s, payload: %s}]}`, operation, payload)
	}
	return built, []runtimeCall{
		{runtime: "waPC", call: "get", module: wapc, settings: call("get_resource", `{api_version: v1, kind: Namespace, name: shop}`)},
		{runtime: "waPC", call: "get by its plural", module: wapc, settings: call("get_resource", `{api_version: v1, kind: namespaces, name: shop}`)},
		{runtime: "waPC", call: "list", module: wapc, settings: call("list_resources_all", `{api_version: v1, kind: Namespace}`)},
		{runtime: "waPC", call: "can_i", module: wapc, settings: call("can_i", `{subject_access_review: {user: a, resource_attributes: {verb: get, resource: secrets}}}`)},
		{runtime: "WASI", call: "get", module: wasi, settings: `{namespace: shop}`},
		{runtime: "Rego", call: "list", module: rego, settings: `{namespace: shop}`},
		{runtime: "CEL", call: "get", rule: "cluster.get('v1', 'Namespace', 'shop') != null"},
		{runtime: "CEL", call: "list", rule: "cluster.list('v1', 'Namespace').size() > 0"},
	}
}

// document is the policy of a kind, with what it is granted.
func (r *runtimeCall) document(kind, grants string) string {
	metadata, spec := "{name: p}", "  contextAware: "+grants+"\n"
	if kind == stored.KindAdmissionPolicy || kind == stored.KindPolicy {
		metadata = "{name: p, namespace: shop}"
	}
	if kind == stored.KindAdmissionPolicy || grants == "[]" {
		spec = ""
	}
	head := "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: " + metadata + "\nspec:\n" + spec
	if r.module == "" {
		// What is read by a variable kind is known only when it is read.
		return head + "  rules: [{name: reads, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: \"" + r.rule + "\"}]}}}]\n"
	}
	return head + "  module: " + r.module + "\n  settings: " + r.settings + "\n  rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]\n"
}

// TestRuntimesThroughTheGate has every runtime ask for a resource, with every grant,
// in a policy of every kind: all go through the one gate.
func TestRuntimesThroughTheGate(t *testing.T) {
	host := namespaces(t, "shop", "secret-project")
	built, calls := runtimeCalls(t)
	modules := moduleHost(t, host, built)
	for name, grant := range map[string]struct {
		grants string
		// get and list are whether these are answered, and seen how many the list has.
		get, list bool
		seen      int
	}{
		"nothing":             {"[]", false, false, 0},
		"another resource":    {"[{version: v1, resource: configmaps}]", false, false, 0},
		"this resource":       {"[{version: v1, resource: namespaces}]", true, true, 2},
		"this one by name":    {"[{version: v1, resource: namespaces, names: [shop]}]", true, true, 1},
		"another one by name": {"[{version: v1, resource: namespaces, names: [other]}]", false, true, 0},
		"by its kind":         {"[{apiVersion: v1, kind: Namespace}]", true, true, 2},
	} {
		for i := range calls {
			c := &calls[i]
			kinds := []string{stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy}
			if c.module == "" {
				kinds = []string{stored.KindClusterPolicy, stored.KindPolicy}
			}
			for _, kind := range kinds {
				t.Run(strings.Join([]string{c.runtime, c.call, kind, name}, "/"), func(t *testing.T) {
					granted := c.call != "can_i" && (grant.list && c.call == "list" || grant.get && c.call != "list")
					narrow := kind == stored.KindAdmissionPolicy || kind == stored.KindPolicy
					var sources policy.Sources
					problems := add(t, &sources, c.document(kind, grant.grants))
					set, more := policy.Compile(sources, pod.Default(), exception.Options{Began: time.Unix(0, 0)})
					problems = append(problems, more...)
					if c.module == "" && (narrow || grant.grants == "[]" || name == "another resource") {
						// What can be told without a cluster is told to the author.
						if len(problems) == 0 {
							t.Error("the policy is accepted, and reads what it was not granted")
						}
						return
					}
					if len(problems) > 0 {
						t.Fatal(problems)
					}
					result := judge(t, set, modules, host)
					read := result.Context != nil && len(result.Context.Reads) > 0
					denied := result.Context != nil && len(result.Context.Denied) > 0
					switch {
					case c.runtime == "Rego" && (narrow || grant.grants == "[]" || name == "another resource"):
						// It is given no more than it was granted, and does not ask.
						if read && name != "another resource" {
							t.Errorf("it read %+v", result.Context.Reads)
						}
					case granted && !narrow:
						if !read || denied {
							t.Errorf("it was granted: %s %s %+v", result.Status, result.Message, result.Context)
						}
						if n := result.Context.Reads[0].Objects; c.call == "list" && n != grant.seen {
							t.Errorf("it saw %d, want %d", n, grant.seen)
						}
					case read || !denied:
						t.Errorf("it was not granted: %s %s %+v", result.Status, result.Message, result.Context)
					}
					if strings.Contains(result.Message, "secret-project") && (narrow || grant.seen < 2) {
						t.Errorf("it was shown what it was not granted: %s", result.Message)
					}
				})
			}
		}
	}
}

func add(t *testing.T, sources *policy.Sources, document string) stored.Problems {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		APIVersion, Kind string
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	return sources.Add(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), raw, "policies.yaml")
}

// namespaces answers reads of the Namespaces of these names, and nothing else.
func namespaces(t *testing.T, names ...string) *contexthost.Host {
	t.Helper()
	var objects []inventory.Given
	for _, name := range names {
		objects = append(objects, inventory.Given{
			Kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			JSON: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + name + `","labels":{"team":"a"}}}`),
		})
	}
	static, err := inventory.NewStatic(objects, []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	files := &contexthost.Files{}
	files.Set(static)
	return contexthost.NewForFiles(files, contexthost.Options{})
}

// fetched are modules by their addresses.
type fetched map[string][]byte

// Fetch gets one.
func (f fetched) Fetch(_ context.Context, address string) (*fetch.Module, error) {
	return &fetch.Module{Wasm: f[address], Digest: fetch.DigestOf(f[address])}, nil
}

func moduleHost(t *testing.T, calls runner.Context, modules fetched) *runner.Host {
	t.Helper()
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	host := runner.NewHost(runner.Options{Engine: engine, Fetcher: modules, Context: calls, Clock: clock.RealClock{}, Log: logr.Discard()})
	t.Cleanup(func() {
		host.Close()
		_ = engine.Close(context.Background())
	})
	return host
}

// judge gives the one result about a pod that is created.
func judge(t *testing.T, set *policy.Set, modules *runner.Host, host request.Host) decision.Result {
	t.Helper()
	if err := modules.Load(t.Context(), set.ModulePolicies()); err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	object, err := pod.Default().Decode(gvk, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"a"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := set.Run(modules).Decide(t.Context(), &request.Request{
		Door: request.Admission, Time: time.Unix(1, 0), Operation: request.Create, Kind: gvk, User: request.User{Name: "ann"},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop", Name: "web", Object: object, Host: host,
	})
	if len(d.Results) != 1 {
		t.Fatalf("%+v", d.Results)
	}
	return d.Results[0]
}
