package exception

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestBoundToItsNamespace holds an exception to its namespace, whether it stands in
// the index by that or, as it names too much, in the list that is tried each time.
func TestBoundToItsNamespace(t *testing.T) {
	const few = "[r]"
	many := []string{"r"}
	for i := range 30 {
		many = append(many, fmt.Sprintf("x%d", i))
	}
	for name, c := range map[string]struct{ rules, kinds, field string }{
		"few keys":                    {few, "[Pod]", ""},
		"more keys than the index":    {"[" + strings.Join(many, ", ") + "]", "[Pod, Deployment, ReplicaSet, Job]", ""},
		"patterns of rules and kinds": {`["*"]`, `["*"]`, ""},
		"names another namespace":     {few, "[Pod]", ", namespaces: [dev, ops]"},
		"names every namespace":       {few, "[Pod]", `, namespaces: ["*"]`},
	} {
		t.Run(name, func(t *testing.T) {
			set, problems := Compile(sources(t, "{exceptions: [{policyName: p, ruleNames: "+c.rules+"}], match: {any: [{resources: {kinds: "+c.kinds+c.field+"}}]}, reason: x}"), Options{Began: now})
			for _, p := range problems {
				// An exception for more than its namespace is told of, and works in its own.
				if c.field == "" {
					t.Fatal(p)
				}
			}
			for namespace, want := range map[string]bool{"dev": true, "ops": false, "": false} {
				found := false
				q := &Query{PolicyKind: "ClusterPolicy", Policy: "p", Rule: "r", Now: now, Targets: []*match.Target{{
					Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: namespace, Name: "web",
				}}}
				set.Find(t.Context(), q, func(*Exception) bool { found = true; return false })
				if found != (want && (c.field == "" || len(problems) == 0)) {
					t.Errorf("in %q: excused %t", namespace, found)
				}
			}
		})
	}
}

// TestAnswersOfNobody leaves out, of an answer that the API server has, each of what
// shows that it passed through admission.
func TestAnswersOfNobody(t *testing.T) {
	const whole = `name: q, namespace: dev, status: Approved, requestUID: u, requestGeneration: 1, approver: ben, approvalTime: "2026-11-28T12:00:00Z"`
	for name, c := range map[string]struct {
		without, with string
		meta          string
		// origin is set for an answer that stands in a file.
		origin string
		says   string
	}{
		"whole":                            {"", "", "", "", ""},
		"no approver":                      {"approver: ben, ", "", "", "", "does not say who approved it and when"},
		"no time":                          {`, approvalTime: "2026-11-28T12:00:00Z"`, "", "", "", "does not say who approved it and when"},
		"neither, from a file":             {`, approver: ben, approvalTime: "2026-11-28T12:00:00Z"`, "", "", "answer.yaml", ""},
		"no UID":                           {"requestUID: u, ", "", "", "", "does not say which version"},
		"another UID":                      {"requestUID: u", "requestUID: v", "", "", "answers another request"},
		"another UID, from a file":         {"requestUID: u", "requestUID: v", "", "answer.yaml", "answers another request"},
		"no generation":                    {"requestGeneration: 1, ", "", "", "", "answers version 0"},
		"an older generation":              {"requestGeneration: 1", "requestGeneration: 3", "", "", "answers version 3"},
		"the requester's own":              {"approver: ben", "approver: ann", "", "", "who asked for it"},
		"changed since":                    {"", "", ", generation: 2", "", "was changed after it was made"},
		"of another namespace":             {"namespace: dev", "namespace: ops", "", "", "not answered yet"},
		"of no namespace":                  {", namespace: dev", "", "", "", ""},
		"no UID, from a file":              {"requestUID: u, ", "", "", "answer.yaml", ""},
		"no generation, from a file":       {"requestGeneration: 1, ", "", "", "answer.yaml", ""},
		"another generation, from a file":  {"requestGeneration: 1", "requestGeneration: 3", "", "answer.yaml", "answers version 3"},
		"that version, from a file":        {"requestUID: u", "requestUID: u, requestResourceVersion: '7'", "", "answer.yaml", ""},
		"another version, from a file":     {"requestUID: u", "requestUID: u, requestResourceVersion: '6'", "", "answer.yaml", "answers version 6"},
		"another version":                  {"requestUID: u", "requestUID: u, requestResourceVersion: '6'", "", "", ""},
		"other exceptions, from a file":    {"requestUID: u", "requestUID: u, exceptions: [{policyName: q}]", "", "answer.yaml", "approves other exceptions"},
		"the same exceptions, from a file": {"requestUID: u", "requestUID: u, exceptions: [{policyName: p, exclude: {resources: {kinds: [Service]}}}]", "", "answer.yaml", ""},
		"other exceptions":                 {"requestUID: u", "requestUID: u, exceptions: [{policyName: p, ruleNames: [r]}]", "", "", ""},
		"neither yes nor no":               {"status: Approved", "status: Maybe", "", "", "not answered yet"},
		"about nothing":                    {"name: q, ", "", "", "", "not answered yet"},
		"an unknown way":                   {"requestUID: u", "requestUID: u, approvalPolicy: Sometimes", "", "", "not answered yet"},
	} {
		t.Run(name, func(t *testing.T) {
			q := read[v1alpha1.PolicyExceptionRequest](t, "metadata: {name: q, namespace: dev, uid: u, generation: 1, resourceVersion: '7'}\nspec: {exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, reason: x, requesters: [ann]}")
			spec := strings.Replace(whole, c.without, c.with, 1)
			if c.without == "" {
				spec = whole
			}
			a := read[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: a"+c.meta+"}\nspec: {"+spec+"}")
			set, _ := Compile(Sources{
				Requests:  []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}},
				Responses: []source.Of[*v1alpha1.PolicyExceptionResponse]{{Object: a, Origin: c.origin}},
			}, Options{Began: now})
			state := set.State(KindRequest, "dev", "q")
			if state.Effective != (c.says == "") || !strings.Contains(state.Unanswered, c.says) {
				t.Errorf("%+v, want %q", state, c.says)
			}
			found := false
			set.Find(t.Context(), &Query{PolicyKind: "ClusterPolicy", Policy: "p", Rule: "r", Now: now, Targets: []*match.Target{{
				Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "dev", Name: "web",
			}}}, func(*Exception) bool { found = true; return false })
			if found != (c.says == "") {
				t.Errorf("excused %t", found)
			}
		})
	}
}
