package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// applied is a request with a patch applied, as the validating webhook sees it.
func applied(t *testing.T, r *request.Request, patch []byte) *request.Request {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := decoded.Apply(r.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	object, err := pods0.Decode(r.Object.GVK, raw)
	if err != nil {
		t.Fatal(err)
	}
	next := *r
	next.Object, next.Final = object, true
	return &next
}

// TestMutateInTurn says that each module sees what those before it have made of
// the object, and that what comes out of it is accepted.
func TestMutateInTurn(t *testing.T) {
	set := setOf(t,
		cap0("first", "mutating: true"),
		cap0("second", "mutating: true", "objectSelector: {matchLabels: {team: a}}"),
		cap0("third", "mutating: true", "mode: monitor"),
		cap0("fourth"),
	)
	m := &modules{answers: map[string]answer{
		"first": sets("labels", "team", "a"), "second": sets("annotations", "cost/center", "7"), "third": sets("labels", "watched", "yes"),
		"fourth": func(asked json.RawMessage) (wasm.Response, error) {
			return wasm.Response{Accepted: strings.Contains(string(asked), `"team":"a"`) && strings.Contains(string(asked), `"cost/center":"7"`)}, nil
		},
	}}
	r := podRequest(t)
	if !set.Run(m).Mutates(r) {
		t.Fatal("it mutates nothing")
	}
	changed, patch, err := set.Run(m).Mutate(t.Context(), r)
	if err != nil || strings.Join(m.asked, " ") != "first second" {
		t.Fatalf("asked %v: %v", m.asked, err)
	}
	if changed.Object.Meta.Labels["team"] != "a" || changed.Object.Meta.Annotations["cost/center"] != "7" || len(r.Object.Meta.Labels) != 0 {
		t.Errorf("changed into %s", changed.Object.Raw)
	}
	d := set.Run(m).Decide(t.Context(), applied(t, r, patch))
	if d.Refuses() || d.Summary.Pass != 3 || d.Summary.Fail != 1 {
		t.Errorf("what the modules made is judged as %+v", d)
	}
	// Whoever passes the mutating webhook by is refused.
	r.Final = true
	if d := set.Run(m).Decide(t.Context(), r); d.Verdict != decision.Deny || d.Summary.Fail != 3 {
		t.Errorf("without the mutating webhook: %+v", d)
	}
}

// TestMutateLeaves says what leaves an object as it is; the validating webhook
// judges what is left.
func TestMutateLeaves(t *testing.T) {
	for name, tt := range map[string]struct {
		answer answer
		lines  []string
		want   decision.Status
	}{
		"another name":         {changes(func(o map[string]any) { o["metadata"].(map[string]any)["name"] = "other" }), nil, decision.Fail},
		"another namespace":    {changes(func(o map[string]any) { o["metadata"].(map[string]any)["namespace"] = "other" }), nil, decision.Fail},
		"another kind":         {changes(func(o map[string]any) { o["kind"] = "Secret" }), nil, decision.Fail},
		"another version":      {changes(func(o map[string]any) { o["apiVersion"] = "v2" }), nil, decision.Fail},
		"no kind":              {changes(func(o map[string]any) { delete(o, "kind") }), nil, decision.Fail},
		"no metadata":          {changes(func(o map[string]any) { delete(o, "metadata") }), nil, decision.Fail},
		"a pod that is none":   {changes(func(o map[string]any) { o["spec"] = 7 }), nil, decision.Fail},
		"another generateName": {changes(func(o map[string]any) { o["metadata"].(map[string]any)["generateName"] = "other-" }), nil, decision.Fail},
		"another uid":          {changes(func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "other" }), nil, decision.Fail},
		"nothing":              {changes(func(map[string]any) {}), nil, decision.Pass},
		"refused":              {refuses("no", 0), nil, decision.Fail},
		"refused, with a change": {func(asked json.RawMessage) (wasm.Response, error) {
			response, err := sets("labels", "a", "b")(asked)
			response.Accepted = false
			return response, err
		}, nil, decision.Fail},
		"failed, with a change": {func(asked json.RawMessage) (wasm.Response, error) {
			response, _ := sets("labels", "a", "b")(asked)
			return response, fmt.Errorf("trap")
		}, nil, decision.Error},
		"failed":       {fails(fmt.Errorf("trap")), nil, decision.Error},
		"watched":      {sets("labels", "a", "b"), []string{"mode: monitor"}, decision.Fail},
		"about others": {sets("labels", "a", "b"), []string{"objectSelector: {matchLabels: {app: db}}"}, ""},
		"unknown":      {sets("labels", "a", "b"), []string{`matchConditions: [{name: a, expression: "object.spec.nothing == 1"}]`}, decision.Error},
		"elsewhere":    {sets("labels", "a", "b"), []string{"policyServer: there"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, cap0("p", append(tt.lines, "mutating: true")...)).Run(&modules{answers: map[string]answer{"p": tt.answer}})
			r := podRequest(t)
			changed, patch, err := set.Mutate(t.Context(), r)
			if changed != r || patch != nil || err != nil {
				t.Errorf("changed by %s, %v", patch, err)
			}
			r.Final = true
			d := set.Decide(t.Context(), r)
			if tt.want == "" && len(d.Results) > 0 || tt.want != "" && only(t, d).Status != tt.want {
				t.Errorf("and judged: %+v", d)
			}
		})
	}
}

func TestMutates(t *testing.T) {
	set := setOf(t, cap0("p", "mutating: true"), cap0("q", `rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]`),
		cap0("r", "mutating: true", "policyServer: there", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]`)).Run(&modules{})
	for name, tt := range map[string]struct {
		change func(*request.Request)
		want   bool
	}{
		"created":             {func(*request.Request) {}, true},
		"updated":             {func(r *request.Request) { r.Operation = request.Update }, true},
		"deleted":             {func(r *request.Request) { r.Operation, r.Object = request.Delete, nil }, false},
		"connected to":        {func(r *request.Request) { r.Operation, r.Object = request.Connect, nil }, false},
		"another door":        {func(r *request.Request) { r.Door = request.Access }, false},
		"without an object":   {func(r *request.Request) { r.Object = nil }, false},
		"of Sallyport itself": {func(r *request.Request) { r.Object.GVK.Group = "sallyport.io" }, false},
		"of another server":   {func(r *request.Request) { r.Resource.Resource = "configmaps" }, false},
		"not mutating":        {func(r *request.Request) { r.Resource.Resource, r.Resource.Group = "deployments", "apps" }, false},
		"nobody's":            {func(r *request.Request) { r.Resource.Resource = "services" }, false},
	} {
		r := podRequest(t)
		tt.change(r)
		if got := set.Mutates(r); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestChangedSecretsAreNotShown says that what a module would change of a Secret is in no
// finding.
func TestChangedSecretsAreNotShown(t *testing.T) {
	set := setOf(t, cap0("p", "mutating: true", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]`)).Run(&modules{answers: map[string]answer{
		"p": changes(func(o map[string]any) { o["data"].(map[string]any)["copy"] = "aHVudGVyMg==" }),
	}})
	a := asking{operation: request.Create, resource: "secrets", kind: "Secret", namespace: "shop", object: `{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: shop}, data: {key: aHVudGVyMg==}}`}
	r := a.request(t, clusterOf(t))
	r.Final = true
	got := only(t, set.Decide(t.Context(), r))
	if got.Status != decision.Fail || len(got.Findings) != 1 || got.Findings[0].Path != "data.copy" || strings.Contains(fmt.Sprint(got), "aHVudGVyMg") {
		t.Errorf("%+v", got)
	}
}

// TestNamespacesChangeTheirOwn has a policy of a namespace change what is in it.
func TestNamespacesChangeTheirOwn(t *testing.T) {
	set := setOf(t, ap0("shop", "p", "mutating: true")).Run(&modules{answers: map[string]answer{"p": sets("labels", "team", "a")}})
	changed, patch, err := set.Mutate(t.Context(), podRequest(t))
	if err != nil || patch == nil || changed.Object.Meta.Labels["team"] != "a" {
		t.Errorf("changed by %s, %v", patch, err)
	}
}

// TestNamespacesChangeNoRights has a policy of a namespace change no binding that an
// administrator makes, which one of the cluster may.
func TestNamespacesChangeNoRights(t *testing.T) {
	const rules = `rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]`
	for name, tt := range map[string]struct {
		document string
		changes  bool
	}{
		"of the cluster":   {cap0("p", "mutating: true", rules), true},
		"of the namespace": {ap0("shop", "p", "mutating: true", rules), false},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, tt.document).Run(&modules{answers: map[string]answer{"p": changes(func(o map[string]any) {
				o["subjects"] = []any{map[string]any{"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"}}
			})}})
			r := asking{
				operation: request.Create, group: "rbac.authorization.k8s.io", resource: "rolebindings", namespace: "shop",
				object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web, namespace: shop}}`,
			}.request(t, clusterOf(t, namespace("shop", nil)))
			_, patch, err := set.Mutate(t.Context(), r)
			if err != nil || (patch != nil) != tt.changes {
				t.Errorf("changed by %s, %v", patch, err)
			}
			r.Final = true
			result := only(t, set.Decide(t.Context(), r))
			if want := map[bool]decision.Status{true: decision.Fail, false: decision.Error}[tt.changes]; result.Status != want {
				t.Errorf("%s: %s, want %s", result.Status, result.Message, want)
			}
		})
	}
}
