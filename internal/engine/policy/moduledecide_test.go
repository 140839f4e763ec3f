package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

func podRequest(t testing.TB) *request.Request {
	t.Helper()
	a := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{}")}
	return a.request(t, clusterOf(t, namespace("shop", nil)))
}

func TestModuleAnswers(t *testing.T) {
	crash := errors.New("the module failed (trap): unreachable")
	labels := sets("labels", "team", "a")
	for name, tt := range map[string]struct {
		lines   []string
		answer  answer
		final   bool
		verdict decision.Verdict
		status  decision.Status
		message string
		finding string
	}{
		"accepted":                        {nil, nil, true, decision.Allow, decision.Pass, "the module accepts it", ""},
		"refused":                         {nil, refuses("no such pods", 0), true, decision.Deny, decision.Fail, "no such pods", ""},
		"refused without a word":          {nil, refuses("", 0), true, decision.Deny, decision.Fail, "does not say why", ""},
		"refused, in other words":         {[]string{"message: ask the team"}, refuses("no such pods", 0), true, decision.Deny, decision.Fail, "ask the team", "no such pods"},
		"refused, and watched":            {[]string{"mode: monitor"}, refuses("no such pods", 0), true, decision.Allow, decision.Fail, "no such pods", ""},
		"fails":                           {nil, fails(crash), true, decision.VerdictError, decision.Error, "cannot be judged: the module failed (trap)", ""},
		"fails, and is watched":           {[]string{"mode: monitor"}, fails(crash), true, decision.Allow, decision.Error, "cannot be judged", ""},
		"fails, and may":                  {[]string{"failurePolicy: Ignore"}, fails(crash), true, decision.Allow, decision.Error, "failurePolicy Ignore", ""},
		"not there":                       {nil, fails(&runner.NotReady{Loading: true}), true, decision.VerdictError, decision.Error, "is being loaded", ""},
		"changes and may not":             {nil, labels, true, decision.VerdictError, decision.Error, wasm.ErrMutates.Error(), ""},
		"changes, may not, and is let be": {[]string{"failurePolicy: Ignore"}, labels, true, decision.Allow, decision.Error, wasm.ErrMutates.Error(), ""},
		"changes at the last moment":      {[]string{"mutating: true"}, labels, true, decision.Deny, decision.Fail, "mutating webhook is not asked", "metadata.labels"},
		"changes before":                  {[]string{"mutating: true"}, labels, false, decision.Allow, decision.Pass, "and changes it", ""},
		"would change, and is watched":    {[]string{"mutating: true", "mode: monitor"}, labels, true, decision.Allow, decision.Fail, "the mode monitor leaves", "metadata.labels"},
		"changes nothing":                 {nil, changes(func(map[string]any) {}), true, decision.Allow, decision.Pass, "accepts it", ""},
		"refuses, and changes": {[]string{"mutating: true"}, func(json.RawMessage) (wasm.Response, error) {
			return wasm.Response{MutatedObject: json.RawMessage(`{}`)}, nil
		}, true, decision.Deny, decision.Fail, "does not say why", ""},
		"changes into what is not an object": {[]string{"mutating: true"}, func(json.RawMessage) (wasm.Response, error) {
			return wasm.Response{Accepted: true, MutatedObject: json.RawMessage(`7`)}, nil
		}, true, decision.Deny, decision.Fail, "", ""},
		"changes into what is not JSON": {[]string{"mutating: true"}, func(json.RawMessage) (wasm.Response, error) {
			return wasm.Response{Accepted: true, MutatedObject: json.RawMessage(`{`)}, nil
		}, true, decision.VerdictError, decision.Error, "", ""},
		"a code of its own":                {nil, refuses("too many", 429), true, decision.Deny, decision.Fail, "too many", ""},
		"a code that is none of a refusal": {nil, refuses("no", 200), true, decision.Deny, decision.Fail, "no", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := podRequest(t)
			r.Final = tt.final
			set := setOf(t, cap0("p", tt.lines...)).Run(&modules{answers: map[string]answer{"p": tt.answer}})
			d := set.Decide(t.Context(), r)
			got := only(t, d)
			if d.Verdict != tt.verdict || got.Status != tt.status || !strings.Contains(got.Message, tt.message) || got.Rule != stored.RuleModule || got.Kind != stored.KindClusterAdmissionPolicy {
				t.Errorf("%s: %+v", d.Verdict, got)
			}
			if tt.finding != "" && (len(got.Findings) == 0 || !strings.Contains(got.Findings[0].String(), tt.finding)) {
				t.Errorf("findings %+v, want %q", got.Findings, tt.finding)
			}
		})
	}
}

// TestModuleRequest says what a module is shown.
func TestModuleRequest(t *testing.T) {
	r := podRequest(t)
	r.DryRun, r.User.UID, r.User.Groups, r.User.Extra = true, "u-7", []string{"dev"}, map[string][]string{"scopes": {"a", "b"}}
	m := &modules{}
	setOf(t, cap0("a"), cap0("b")).Run(m).Decide(t.Context(), r)
	if &m.seen[0][0] != &m.seen[1][0] {
		t.Error("the request is written for each module again")
	}
	var got map[string]any
	if err := json.Unmarshal(m.seen[0], &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "object")
	want := map[string]any{
		"uid": "1", "name": "web", "namespace": "shop", "operation": "CREATE", "dryRun": true,
		"kind":        map[string]any{"group": "", "version": "v1", "kind": "Pod"},
		"requestKind": map[string]any{"group": "", "version": "v1", "kind": "Pod"},
		"resource":    map[string]any{"group": "", "version": "v1", "resource": "pods"}, "requestResource": map[string]any{"group": "", "version": "v1", "resource": "pods"},
		"userInfo": map[string]any{"username": "alice", "uid": "u-7", "groups": []any{"dev"}, "extra": map[string]any{"scopes": []any{"a", "b"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	exec := asking{operation: request.Connect, resource: "pods", sub: "exec", kind: "PodExecOptions", namespace: "shop"}
	r = exec.request(t, clusterOf(t))
	r.Options.Body = request.Hide([]byte(`{"container":"app","stdin":true}`))
	setOf(t, cap0("c", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]}]`)).Run(m).Decide(t.Context(), r)
	if last := string(m.seen[len(m.seen)-1]); !strings.Contains(last, `"container":"app"`) || !strings.Contains(last, `"subResource":"exec"`) {
		t.Errorf("an exec is shown as %s", last)
	}
}

// TestWhatModulesRead answers what modules ask from the cluster of the request, and
// with an error where that is one that policies do not read.
func TestWhatModulesRead(t *testing.T) {
	host := hostOf(t, shop)
	for name, c := range map[string]struct {
		host      request.Host
		elsewhere bool
		want      runner.Caller
	}{
		"a cluster":                      {host, false, host},
		"nothing":                        {nil, false, nil},
		"a further cluster":              {nil, true, modulepolicy.Elsewhere{}},
		"a further cluster that is read": {host, true, host},
	} {
		m := &modules{}
		r := podRequest(t)
		r.Host, r.Elsewhere = c.host, c.elsewhere
		setOf(t, cap0("p")).Run(m).Decide(t.Context(), r)
		if len(m.callers) != 1 || m.callers[0] != c.want {
			t.Errorf("%s: %v, want %v", name, m.callers, c.want)
		}
	}
	if _, err := (modulepolicy.Elsewhere{}).Call(t.Context(), nil, hostcall.Call{}); !errors.Is(err, modulepolicy.ErrUnread) {
		t.Errorf("%v", err)
	}
}

// TestModulesByName finds a policy by all of its name, and each id that runs here.
func TestModulesByName(t *testing.T) {
	set := setOf(t, cap0("shop-p"), ap0("shop", "p"), ap0("shop", "q"), ap0("dev", "p"), cap0("there", "policyServer: there")).Run(&modules{})
	for ref, id := range map[stored.Ref]string{
		{Kind: stored.KindClusterAdmissionPolicy, Namespace: "", Name: "shop-p"}: "clusterwide-shop-p",
		{Kind: stored.KindAdmissionPolicy, Namespace: "shop", Name: "p"}:         "namespaced-shop-p",
		{Kind: stored.KindAdmissionPolicy, Namespace: "shop", Name: "q"}:         "namespaced-shop-q",
		{Kind: stored.KindAdmissionPolicy, Namespace: "dev", Name: "p"}:          "namespaced-dev-p",
	} {
		if got := set.ModulePolicy(ref); got == nil || (stored.Ref{Kind: got.Kind, Namespace: got.Namespace, Name: got.Name}) != ref {
			t.Errorf("%s: %v", ref, got)
		}
		if ref.ModuleID() != id || set.Module(id) == nil || len(set.Module(id).Modules.All) != 1 {
			t.Errorf("%s: its id is %s", ref, ref.ModuleID())
		}
	}
	for _, ref := range []stored.Ref{{Kind: stored.KindAdmissionPolicy, Namespace: "", Name: "shop-p"}, {Kind: stored.KindClusterAdmissionPolicy, Namespace: "shop", Name: "p"}, {Kind: stored.KindAdmissionPolicy, Namespace: "dev", Name: "q"}, {Kind: "", Namespace: "", Name: ""}} {
		if got := set.ModulePolicy(ref); got != nil {
			t.Errorf("%s: %v", ref, got)
		}
	}
	for _, id := range []string{"clusterwide-there", "clusterwide-none"} {
		if set.Module(id) != nil {
			t.Errorf("%s is run here", id)
		}
	}
	broken, _ := started(t, yamlOf("ClusterAdmissionPolicy", "x", brokenModules))
	if got := broken.Set().ModulePolicy(stored.Ref{Kind: stored.KindClusterAdmissionPolicy, Namespace: "", Name: "x"}); got != nil {
		t.Errorf("a module of a policy that cannot work: %v", got)
	}
	for ref, want := range map[stored.Ref]string{{Kind: "A", Namespace: "b", Name: "c"}: "A/b/c", {Kind: "A", Namespace: "", Name: "c"}: "A/c"} {
		if ref.String() != want {
			t.Errorf("%s, want %s", ref, want)
		}
	}
}

// TestPathsOfChanges writes JSON pointers as people write paths of fields.
func TestPathsOfChanges(t *testing.T) {
	for pointer, want := range map[string]string{
		"/metadata/labels/app.kubernetes.io~1name": "metadata.labels[app.kubernetes.io/name]",
		"/spec/containers/10/image":                "spec.containers[10].image",
		"/spec/0a":                                 "spec.0a",
		"/data/a~0b":                               "data.a~b",
		"/":                                        "",
		"":                                         "",
	} {
		if got := modulepolicy.FieldPath(pointer); got != want {
			t.Errorf("%s: %q, want %q", pointer, got, want)
		}
	}
	patch := []byte(`[{"op": "remove", "path": "/spec/a"}, {"op": "add", "path": "/spec/b", "value": {"c": 1}}]`)
	for secret, want := range map[bool]string{
		false: `spec.a: the policy would remove it, spec.b: the policy would add it as {"c": 1}`,
		true:  "spec.a: the policy would remove it, spec.b: the policy would add it",
	} {
		var said []string
		for _, f := range modulepolicy.ChangedFields(patch, secret) {
			said = append(said, f.Path+": "+f.Detail)
		}
		if got := strings.Join(said, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestModuleRequestThatCannotBeWritten judges nothing by half a request.
func TestModuleRequestThatCannotBeWritten(t *testing.T) {
	const rules = `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods, pods/exec], operations: [CREATE, CONNECT]}]`
	for name, c := range map[string]struct {
		change func(r *request.Request)
		says   string
	}{
		"options that are not JSON":  {func(r *request.Request) { r.Options.Body = request.Hide([]byte("{")) }, "PodExecOptions cannot be read"},
		"no options":                 {func(r *request.Request) { r.Options = nil }, ""},
		"options that are not there": {func(r *request.Request) { r.Options = &request.ConnectOptions{Kind: "PodExecOptions"} }, ""},
		"options of a write that are not JSON": {func(r *request.Request) {
			*r = *podRequest(t)
			r.Write = []byte("{")
		}, "cannot be written for the module"},
	} {
		r := running(t, "ls")
		c.change(r)
		m := &modules{}
		got := only(t, setOf(t, cap0("p", rules)).Run(m).Decide(t.Context(), r))
		want := decision.Pass
		if c.says != "" {
			want = decision.Error
		}
		if got.Status != want || (len(m.seen) == 1) != (c.says == "") || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %s %q, asked %s", name, got.Status, got.Message, m.seen)
		}
		if len(m.seen) == 1 && strings.Contains(string(m.seen[0]), `"object"`) {
			t.Errorf("%s: it is shown as %s", name, m.seen[0])
		}
		again := &call.Call{Ctx: t.Context(), Request: r}
		_, first := modulepolicy.AdmissionRequest(again)
		if _, second := modulepolicy.AdmissionRequest(again); first != second || (first == nil) != (c.says == "") {
			t.Errorf("%s: %v, and then %v", name, first, second)
		}
	}
}

func TestModuleOrder(t *testing.T) {
	set := setOf(t, ap0("shop", "zeta"), ap0("shop", "alpha"), cap0("last"), cap0("first"), cap0("wide", `rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]`))
	m := &modules{}
	d := set.Run(m).Decide(t.Context(), podRequest(t))
	if got := strings.Join(m.asked, " "); got != "first last wide alpha zeta" || len(d.Results) != 5 {
		t.Errorf("asked %s", got)
	}
}

func TestModulesOfOtherServers(t *testing.T) {
	set := setOf(t, cap0("mine", "policyServer: here"), cap0("other", "policyServer: there"), cap0("plain"))
	m := &modules{server: "here"}
	if set.Run(m).Decide(t.Context(), podRequest(t)); strings.Join(m.asked, " ") != "mine" {
		t.Errorf("asked %v", m.asked)
	}
	if d := set.Decide(t.Context(), podRequest(t)); d.Verdict != decision.VerdictError || len(d.Results) != 3 {
		t.Errorf("where modules are not run: %+v", d)
	}
}

func TestModulesInTheBackground(t *testing.T) {
	set := setOf(t, cap0("scans"), cap0("waits", "backgroundAudit: false"))
	m := &modules{}
	r := podRequest(t)
	if got := about(t, set, r); got != "scans waits" {
		t.Errorf("of what is made, asked %q", got)
	}
	r.Background, r.User = true, request.User{}
	set.Run(m).Decide(t.Context(), r)
	if strings.Join(m.asked, " ") != "scans" {
		t.Errorf("asked %v", m.asked)
	}
	if !set.InBackground(r.Kind, r.Resource) || set.InBackground(deploymentGVK, deploymentGVK.GroupVersion().WithResource("deployments")) {
		t.Error("the wrong kinds are scanned")
	}
}

func TestModulesAndExceptions(t *testing.T) {
	exception := func(policy string) string {
		return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: bypass, namespace: shop, creationTimestamp: "2026-11-01T00:00:00Z"}
spec:
  reason: moving
  match: {any: [{resources: {kinds: [Pod], names: [web]}}]}
  exceptions: [{policyName: %s, ruleNames: [validate]}]
`, policy)
	}
	m := &modules{answers: map[string]answer{"p": refuses("no", 0), "q": sets("labels", "team", "a")}}
	for policy, want := range map[string]decision.Status{"p": decision.Skip, "other": decision.Fail, "shop/p": decision.Fail} {
		set := setOf(t, cap0("p"), exception(policy)).Run(m)
		if got := only(t, set.Decide(t.Context(), podRequest(t))); got.Status != want {
			t.Errorf("%s: %+v", policy, got)
		}
	}
	set := setOf(t, cap0("q", "mutating: true"), exception("q")).Run(m)
	r := podRequest(t)
	changed, patch, err := set.Mutate(t.Context(), r)
	if changed != r || patch != nil || err != nil {
		t.Errorf("a change that is excused: %s, %v", patch, err)
	}
	r.Final = true
	if got := only(t, set.Decide(t.Context(), r)); got.Status != decision.Skip || len(got.Exceptions) != 1 {
		t.Errorf("and judged: %+v", got)
	}
	if used := set.Exceptions().Exceptions()[0]; used == nil {
		t.Error("the exception is gone")
	}
	if warnings := setOf(t, cap0("p"), exception("p")).Warnings(); len(warnings) > 0 {
		t.Errorf("an exception to a module: %v", warnings)
	}
}
