package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// running is what the front door is asked when somebody runs something in a pod.
func running(t *testing.T, command ...string) *request.Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "PodExecOptions", "container": "app", "stdout": true, "command": command})
	if err != nil {
		t.Fatal(err)
	}
	return &request.Request{
		Time: judgedAt, Door: request.Admission, UID: "1", Operation: request.Connect, User: request.User{Name: "alice"},
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Subresource: "exec", Namespace: "dev", Name: "web", Cluster: clusterOf(t, podNamed("dev", "web", nil)),
		Options: &request.ConnectOptions{Kind: "PodExecOptions", Container: "app", Body: request.Hide(body)},
	}
}

const execs = "match: {any: [{resources: {kinds: [Pod/exec]}}]}\n    validate: "

// TestCommands has rules go by what an exec runs, in each language.
func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		validate string
		command  []string
		want     decision.Status
	}{
		"CEL, no tar":                  {`{cel: {expressions: [{expression: "!(has(object.command) && object.command.size() > 0 && object.command[0] == 'tar')"}]}}`, []string{"tar", "cf"}, decision.Fail},
		"CEL, something else":          {`{cel: {expressions: [{expression: "!(has(object.command) && object.command[0] == 'tar')"}]}}`, []string{"ls"}, decision.Pass},
		"CEL, a list of what may be":   {`{cel: {expressions: [{expression: "object.command in [['date'], ['ls', '/tmp']]"}]}}`, []string{"ls", "/etc"}, decision.Fail},
		"CEL, stdout":                  {`{cel: {expressions: [{expression: "!object.stdout"}]}}`, []string{"ls"}, decision.Fail},
		"a pattern, any word":          {`{pattern: {command: ["!*passwd*"]}}`, []string{"cat", "/etc/passwd"}, decision.Fail},
		"a pattern that holds":         {`{pattern: {command: ["!*passwd*"]}}`, []string{"cat", "/etc/hosts"}, decision.Pass},
		"a pattern, what may not be":   {`{pattern: {"X(command)": ""}}`, []string{"ls"}, decision.Fail},
		"a pattern, the container":     {`{pattern: {container: "!app"}}`, []string{"ls"}, decision.Fail},
		"anyPattern":                   {`{anyPattern: [{command: [ls]}, {command: [date]}]}`, []string{"tar"}, decision.Fail},
		"CEL, a part that is not sent": {`{cel: {expressions: [{expression: "object.stdin == true"}]}}`, []string{"ls"}, decision.Error},
	} {
		t.Run(name, func(t *testing.T) {
			if got := only(t, setOf(t, rulePolicy("", execs+c.validate)).Decide(t.Context(), running(t, c.command...))); got.Status != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

// TestWhatOfOptionsIsShown in findings are the fields that carry nothing of what is run.
func TestWhatOfOptionsIsShown(t *testing.T) {
	for validate, want := range map[string]string{
		`{pattern: {container: "!app"}}`: "app",
		`{pattern: {stdout: false}}`:     "true",
		`{pattern: {command: ["!ls"]}}`:  "",
		`{pattern: {command: {a: b}}}`:   "",
	} {
		got := only(t, setOf(t, rulePolicy("", execs+validate)).Decide(t.Context(), running(t, "ls")))
		if got.Status != decision.Fail || len(got.Findings) != 1 || got.Findings[0].Value != want {
			t.Errorf("%s: %+v", validate, got)
		}
	}
}

// TestModulesSeeCommands has a module judge all that the review carries.
func TestModulesSeeCommands(t *testing.T) {
	m := &modules{answers: map[string]answer{"m": refuses("no", 0)}}
	policy := cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]}]`)
	got := only(t, setOf(t, policy).Run(m).Decide(t.Context(), running(t, "tar", "cf", "-")))
	if got.Status != decision.Fail || len(m.seen) != 1 {
		t.Fatalf("%+v", got)
	}
	var asked struct{ Object map[string]any }
	if err := json.Unmarshal(m.seen[0], &asked); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%v %v %v %v", asked.Object["command"], asked.Object["container"], asked.Object["stdout"], asked.Object["kind"]) != "[tar cf -] app true PodExecOptions" {
		t.Errorf("%v", asked.Object)
	}
}

// TestCommandsAreNotShown looks for what an exec runs in all that is said of it.
func TestCommandsAreNotShown(t *testing.T) {
	const secret = "hunter2"
	said := func(text string) answer {
		return func(json.RawMessage) (wasm.Response, error) {
			return wasm.Response{Message: text, Warnings: []string{text}, AuditAnnotations: map[string]string{text: text}}, nil
		}
	}
	module := cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]}]`)
	excused := "\n---\napiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod/exec]}}]}, conditions: [{name: c, expression: \"int(object.command[0]) > 1\"}]}"
	for name, c := range map[string]struct {
		policy string
		answer answer
	}{
		"a pattern's value":        {rulePolicy("", execs+`{pattern: {command: ["ls"]}}`), nil},
		"a pattern's value, whole": {rulePolicy("", execs+`{pattern: {command: "ls"}}`), nil},
		"what may not be there":    {rulePolicy("", execs+`{pattern: {"X(command)": ""}}`), nil},
		"messageExpression":        {rulePolicy("", execs+`{cel: {expressions: [{expression: "false", messageExpression: "'it runs ' + object.command.join(' ')"}]}}`), nil},
		"parts of it":              {rulePolicy("", execs+`{cel: {variables: [{name: w, expression: "object.command[0].split('=')[1]"}], expressions: [{expression: "false", messageExpression: "'it runs ' + variables.w.upperAscii()"}]}}`), nil},
		"an error of CEL":          {rulePolicy("", execs+`{cel: {expressions: [{expression: "int(object.command[0]) > 1"}]}}`), nil},
		"an error with a key":      {rulePolicy("", execs+`{cel: {expressions: [{expression: "{'a': true}[object.command[0]]"}]}}`), nil},
		"an exception's condition": {rulePolicy("", execs+`{cel: {expressions: [{expression: "false"}]}}`) + excused, nil},
		"a module":                 {module, said("no " + secret)},
		"a module that fails":      {module, fails(errors.New("panicked at " + secret))},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, strings.Split(c.policy, "\n---\n")...).Run(&modules{answers: map[string]answer{"m": c.answer}})
			d := set.Decide(t.Context(), running(t, "--password="+secret))
			if !d.Refuses() {
				t.Fatalf("%+v", d)
			}
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.ToLower(fmt.Sprintf("%s %+v %s", text, d, decision.Reason("exec", &d, 4096)))
			if strings.Contains(all, secret) {
				t.Errorf("%s", all)
			}
		})
	}
}

// TestWhatIsNotCarried holds rules about a CONNECT that carries no object: it is not
// taken for an empty one.
func TestWhatIsNotCarried(t *testing.T) {
	for name, c := range map[string]struct {
		validate, spec string
		refused        bool
	}{
		"a pattern about what may not be": {`{pattern: {"X(command)": ""}}`, "", true},
		"a pattern with a condition":      {`{pattern: {"(container)": app, tty: false}}`, "", true},
		"CEL with has":                    {`{cel: {expressions: [{expression: "!has(object.command)"}]}}`, "", true},
		"CEL with an optional":            {`{cel: {expressions: [{expression: "object.?container.orValue('') != 'app'"}]}}`, "", true},
		"CEL about the request":           {`{cel: {expressions: [{expression: "request.name == 'web'"}]}}`, "", false},
		"what is carried is not JSON":     {`{cel: {expressions: [{expression: "request.name == 'web'"}]}}`, "", true},
		"the rule's fail mode":            {`{pattern: {"X(command)": ""}}`, "failurePolicy: Ignore\n  ", false},
	} {
		t.Run(name, func(t *testing.T) {
			policy := strings.Replace(rulePolicy("", strings.Replace(execs, "Pod/exec", `"*/portforward"`, 1)+c.validate), "spec:\n  ", "spec:\n  "+c.spec, 1)
			r := running(t)
			r.Resource, r.Subresource = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}, "portforward"
			r.Kind, r.Options = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstance"}, &request.ConnectOptions{Kind: "VirtualMachineInstance"}
			if strings.Contains(name, "not JSON") {
				r.Options.Body = request.Hide([]byte("{"))
			}
			d := setOf(t, policy).Decide(t.Context(), r)
			if only(t, d); d.Refuses() != c.refused {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestSideDoorHasNoCommands gives no opinion at the side door by rules about exec.
func TestSideDoorHasNoCommands(t *testing.T) {
	set := setOf(t, rulePolicy("", execs+`{cel: {expressions: [{expression: "false"}]}}`))
	if d := set.Decide(t.Context(), exec(clusterOf(t, podNamed("dev", "web", nil)), "dev", "web")); len(d.Results) > 0 {
		t.Errorf("%+v", d)
	}
	said := set.NeedFrontDoor("Pod", "exec")
	if len(said) != 1 || !strings.Contains(said[0], "ClusterPolicy p, rule r, gives no opinion at the side door") {
		t.Error(said)
	}
	if said := set.NeedFrontDoor("Pod", "attach"); len(said) > 0 {
		t.Error(said)
	}
}
