package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// modules are what runs the modules of a test: what is not there accepts.
type modules struct {
	answers map[string]answer
	infos   map[string]runner.Info
	tried   func(ctx context.Context, p *runner.Policy) (runner.Info, error)
	server  string

	mu      sync.Mutex
	asked   []string
	seen    []json.RawMessage
	callers []runner.Caller
}

// answer is what the module of a policy, by name, says of a request.
type answer func(request json.RawMessage) (wasm.Response, error)

func (m *modules) Hosts(p *runner.Policy) bool { return p.Server == m.server }

func (m *modules) Judge(_ context.Context, p *runner.Policy, asked json.RawMessage, calls runner.Caller) (wasm.Response, error) {
	m.mu.Lock()
	m.asked, m.seen, m.callers = append(m.asked, p.Name), append(m.seen, asked), append(m.callers, calls)
	m.mu.Unlock()
	if answer := m.answers[p.Name]; answer != nil {
		return answer(asked)
	}
	return wasm.Response{Accepted: true}, nil
}

func (m *modules) Try(ctx context.Context, p *runner.Policy) (runner.Info, error) {
	if m.tried == nil {
		return runner.Info{}, nil
	}
	return m.tried(ctx, p)
}

func (m *modules) Status(p *runner.Policy) (runner.Info, error) {
	info, ok := m.infos[p.Name]
	if !ok {
		return runner.Info{}, &runner.NotReady{Loading: true}
	}
	return info, nil
}

func refuses(message string, code uint16) answer {
	return func(json.RawMessage) (wasm.Response, error) { return wasm.Response{Message: message, Code: code}, nil }
}

func fails(err error) answer {
	return func(json.RawMessage) (wasm.Response, error) { return wasm.Response{}, err }
}

// sets has a module set a field of metadata to a value.
func sets(where, key, value string) answer {
	return changes(func(object map[string]any) {
		metadata := object["metadata"].(map[string]any)
		values, _ := metadata[where].(map[string]any)
		if values == nil {
			values = map[string]any{}
		}
		values[key] = value
		metadata[where] = values
	})
}

func changes(change func(object map[string]any)) answer {
	return func(asked json.RawMessage) (wasm.Response, error) {
		var r struct{ Object map[string]any }
		if err := json.Unmarshal(asked, &r); err != nil {
			return wasm.Response{}, err
		}
		change(r.Object)
		object, err := json.Marshal(r.Object)
		return wasm.Response{Accepted: true, MutatedObject: object}, err
	}
}

const podRules = `[{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]`

// cap0 is a ClusterAdmissionPolicy for pods, with more in its spec.
func cap0(name string, more ...string) string {
	spec := "  module: file:///" + name + ".wasm\n"
	if !strings.Contains(strings.Join(more, ""), "rules:") {
		more = append(more, "rules: "+podRules)
	}
	for _, line := range more {
		spec += "  " + line + "\n"
	}
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterAdmissionPolicy\nmetadata: {name: " + name + "}\nspec:\n" + spec
}

// ap0 is an AdmissionPolicy for pods.
func ap0(namespace, name string, more ...string) string {
	text := strings.Replace(cap0(name, more...), "kind: ClusterAdmissionPolicy\nmetadata: {", "kind: AdmissionPolicy\nmetadata: {namespace: "+namespace+", ", 1)
	return strings.Replace(text, "file:///"+name+".wasm", "https://example.com/"+name+".wasm", 1)
}

// asking are the parts of a request that rules look at.
type asking struct {
	operation            request.Operation
	group, resource, sub string
	kind                 string
	namespace            string
	object, old          string
}

func (a asking) request(t testing.TB, state request.Cluster) *request.Request {
	t.Helper()
	gvk := schema.GroupVersionKind{Version: "v1", Kind: a.kind}
	for _, text := range []string{a.object, a.old} {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			gvk = meta.GroupVersionKind()
		}
	}
	r := &request.Request{
		Time: judgedAt, Door: request.Admission, UID: "1", Operation: a.operation, User: request.User{Name: "alice"},
		Kind: gvk, Resource: schema.GroupVersionResource{Group: a.group, Version: "v1", Resource: a.resource}, Subresource: a.sub,
		Namespace: a.namespace, Name: "web", Cluster: state,
	}
	decode := func(text string) *pod.Object {
		if text == "" {
			return nil
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		object, err := pod.Default().Decode(gvk, raw)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	r.Object, r.OldObject = decode(a.object), decode(a.old)
	if a.operation == request.Connect {
		r.Options = &request.ConnectOptions{Kind: a.kind, Body: request.Hide([]byte(`{"apiVersion": "v1", "kind": "` + a.kind + `"}`))}
	}
	return r
}

func labelled(kind, labels string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {name: web, namespace: shop, labels: %s}, spec: {}}`, kind, labels)
}

// about lists the policies that are asked about a request.
func about(t *testing.T, set *Set, r *request.Request) string {
	t.Helper()
	m := &modules{}
	set.Run(m).Decide(t.Context(), r)
	return strings.Join(m.asked, " ")
}

type specOf = v1alpha1.AdmissionPolicySpec

var (
	pods0   = pod.Default()
	passes0 = exception.Options{Began: judgedAt}
)
