package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const jobSet = "metadata: {name: x, namespace: dev}\nspec: {replicatedJobs: [{template: {spec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: one}]}}}}}, {template: {spec: {template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c, image: two}]}}}}}]}"

// TestExpressionsOfRules says what follows from what expressions give.
func TestExpressionsOfRules(t *testing.T) {
	state := clusterOf(t, namespace("dev", map[string]string{"env": "prod"}))
	const wrong = "object.spec.none == 1"
	for name, c := range map[string]struct {
		apiVersion, kind, body, old string
		state                       request.Cluster
		spec, expressions           string
		want                        decision.Status
		says                        string
	}{
		"it holds":               {"v1", "Pod", podBody, "", state, "", `{expression: "true"}`, decision.Pass, "every expression holds"},
		"it does not hold":       {"v1", "Pod", podBody, "", state, "", `{expression: "false"}`, decision.Fail, "an expression does not hold"},
		"it cannot be evaluated": {"v1", "Pod", podBody, "", state, "", `{expression: "` + wrong + `"}`, decision.Error, "no such key: none"},
		"one does not hold, one cannot be evaluated":          {"v1", "Pod", podBody, "", state, "", `{expression: "` + wrong + `"}, {expression: "false"}`, decision.Fail, "an expression does not hold"},
		"one does not hold, one cannot be evaluated, and may": {"v1", "Pod", podBody, "", state, "failurePolicy: Ignore", `{expression: "false"}, {expression: "` + wrong + `"}`, decision.Fail, "an expression does not hold"},
		"the first of what cannot be evaluated":               {"jobset.x-k8s.io/v1alpha2", "JobSet", jobSet, "", state, "", `{expression: "object.spec.containers[0].image == 'one' ? object.spec.first == 1 : object.spec.second == 1"}`, decision.Error, "no such key: first"},
		"each template with its own before":                   {"jobset.x-k8s.io/v1alpha2", "JobSet", jobSet, jobSet, state, "", `{expression: "object.spec.containers[0].image == oldObject.spec.containers[0].image"}`, decision.Pass, ""},
		"a namespace":                                         {"v1", "Pod", podBody, "", state, "", `{expression: "namespaceObject.metadata.labels.env == 'prod'"}`, decision.Pass, ""},
		"a namespace that cannot be read":                     {"v1", "Pod", podBody, "", unreadable{}, "", `{expression: "namespaceObject == null"}`, decision.Error, `namespace "dev" cannot be read: connection refused`},
		"a namespace that is not there":                       {"v1", "Pod", podBody, "", emptyCluster(t), "", `{expression: "namespaceObject == null"}`, decision.Error, `namespaceObject: namespace "dev" is not there`},
		"what is in no namespace":                             {"v1", "Node", "metadata: {name: node-1}", "", unreadable{}, "", `{expression: "namespaceObject == null"}`, decision.Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			gvk, document := object(c.apiVersion, c.kind, c.body)
			kind := c.kind
			if kind == "JobSet" {
				kind = "Pod"
			}
			policy := rulePolicy("", "match: {any: [{resources: {kinds: ["+kind+"]}}]}\n    validate: {cel: {expressions: ["+c.expressions+"]}}")
			if c.spec != "" {
				policy = strings.Replace(policy, "spec:\n", "spec:\n  "+c.spec+"\n", 1)
			}
			r := created(t, c.state, gvk, "things", document)
			if c.old != "" {
				_, before := object(c.apiVersion, c.kind, c.old)
				r.Operation, r.OldObject = request.Update, created(t, c.state, gvk, "things", before).Object
			}
			d := setOf(t, policy).Decide(t.Context(), r)
			got := only(t, d)
			if got.Status != c.want || !strings.Contains(got.Message, c.says) || d.Refuses() != (c.want != decision.Pass) {
				t.Errorf("%s %q, refused %v", got.Status, got.Message, d.Refuses())
			}
		})
	}
}

// TestRulesOfWhatCannotBeRead refuses an object, and what it was before, of which a rule
// sees nothing.
func TestRulesOfWhatCannotBeRead(t *testing.T) {
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	_, document := object("apps/v1", "Deployment", templateBody)
	sound := created(t, emptyCluster(t), deployment, "deployments", document)
	empty := &pod.Object{GVK: deployment, Meta: sound.Object.Meta, Pods: sound.Object.Pods}
	other := &pod.Object{GVK: deployment, Meta: sound.Object.Meta, Pods: sound.Object.Pods, Raw: []byte(`{"metadata": {"name": "x", "namespace": "dev"}, "spec": {}}`)}
	for name, c := range map[string]struct {
		match, validate string
		now, old        *pod.Object
		says            string
	}{
		"an expression, of nothing":                     {"Deployment", "{cel: {expressions: [{expression: \"true\"}]}}", empty, nil, "the object cannot be read"},
		"an expression, of nothing before":              {"Deployment", "{cel: {expressions: [{expression: \"true\"}]}}", sound.Object, empty, "the old object cannot be read"},
		"an expression, of a template that is not":      {"Pod", "{cel: {expressions: [{expression: \"true\"}]}}", other, nil, "spec.template"},
		"an expression, of a template that was not":     {"Pod", "{cel: {expressions: [{expression: \"true\"}]}}", sound.Object, other, "spec.template"},
		"a pattern, of nothing":                         {"Deployment", "{pattern: {metadata: {name: x}}}", empty, nil, "the object cannot be read"},
		"a pattern, of a template that is not":          {"Pod", "{pattern: {spec: {\"=(x)\": y}}}", other, nil, "spec.template"},
		"a pattern of a Pod, of a template that is not": {"Pod", "{pattern: {\"=(kind)\": Pod}}", other, nil, "spec.template"},
	} {
		t.Run(name, func(t *testing.T) {
			r := *sound
			r.Object = c.now
			if c.old != nil {
				r.Operation, r.OldObject = request.Update, c.old
			}
			d := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: ["+c.match+"]}}]}\n    validate: "+c.validate)).Decide(t.Context(), &r)
			for i := range d.Results {
				if got := &d.Results[i]; got.Kind == stored.KindClusterPolicy && got.Status == decision.Error && strings.Contains(got.Message, c.says) {
					return
				}
			}
			t.Errorf("%+v", d.Results)
		})
	}
}

// TestPodOfATemplate gives the Pod that a template makes the namespace of its object, and
// leaves metadata that are not a map for a rule to see.
func TestPodOfATemplate(t *testing.T) {
	for metadata, want := range map[string]string{
		`"x"`:                                   `"x"`,
		`null`:                                  `{"namespace":"dev"}`,
		`{}`:                                    `{"namespace":"dev"}`,
		`{"namespace": "other", "name": "web"}`: `{"name":"web","namespace":"dev"}`,
	} {
		var tree map[string]any
		if err := json.Unmarshal([]byte(`{"spec": {"template": {"metadata": `+metadata+`}}}`), &tree); err != nil {
			t.Fatal(err)
		}
		made, err := clusterpolicy.AsPod(&pod.Pod{Path: "spec.template"}, tree, "dev")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(made["metadata"]); string(got) != want {
			t.Errorf("%s: %s, want %s", metadata, got, want)
		}
	}
	if made, err := clusterpolicy.AsPod(&pod.Pod{Path: "spec.template"}, map[string]any{"spec": "x"}, "dev"); err == nil {
		t.Errorf("a template that is not there is %v", made)
	}
}
