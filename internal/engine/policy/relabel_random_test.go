package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// tree is a map as YAML has it, items a list.
type (
	tree  = map[string]any
	items = []any
)

// randomly makes parts of policies.
type randomly struct{ *rand.Rand }

func (r randomly) one(of ...any) any { return of[r.IntN(len(of))] }

func (r randomly) maybe(o tree, key string, one func() any) {
	if r.IntN(2) == 0 {
		o[key] = one()
	}
}

// selector goes by the labels a and b, whose values are x, y and z.
func (r randomly) selector() any {
	expression := func() any {
		key := r.one("a", "b")
		switch r.IntN(4) {
		case 0:
			return tree{"key": key, "operator": "Exists"}
		case 1:
			return tree{"key": key, "operator": "DoesNotExist"}
		case 2:
			return tree{"key": key, "operator": "In", "values": items{"x", "z"}}
		}
		return tree{"key": key, "operator": "NotIn", "values": items{r.one("x", "y")}}
	}
	switch r.IntN(4) {
	case 0:
		return tree{"matchLabels": tree{r.one("a", "b", "?").(string): r.one("x", "y", "*", "?")}}
	case 1:
		return tree{"matchLabels": tree{"a": r.one("x", "y")}, "matchExpressions": items{expression()}}
	case 2:
		return tree{"matchExpressions": items{expression(), expression()}}
	}
	return tree{"matchExpressions": items{expression()}}
}

func (r randomly) filter() any {
	resources := tree{"kinds": r.one(items{"Pod"}, items{"ConfigMap"}, items{"Pod", "ConfigMap"}, items{"*"}, items{"Deployment"}, items{"Deployment", "Pod"}, items{"Namespace"})}
	if r.IntN(4) > 0 {
		resources["namespaceSelector"] = r.selector()
	}
	if r.IntN(4) == 0 {
		resources["selector"] = tree{"matchLabels": tree{"a": "x"}}
	}
	if r.IntN(4) == 0 {
		resources["names"] = r.one(items{"n1"}, items{"m*"}, items{"n1", "z", "shop"})
	}
	if r.IntN(6) == 0 {
		resources["namespaces"] = r.one(items{"shop"}, items{"other"})
	}
	return tree{"resources": resources}
}

func (r randomly) block() any {
	filters := items{}
	for range 1 + r.IntN(3) {
		filters = append(filters, r.filter())
	}
	return tree{r.one("any", "any", "all").(string): filters}
}

func (r randomly) labels() set {
	labels := set{}
	for _, key := range []string{"a", "b"} {
		if value := r.one("x", "y", "z", "").(string); value != "" {
			labels[key] = value
		}
	}
	return labels
}

func (r randomly) policy(match any) tree {
	rule := tree{"name": "never", "match": match, "validate": tree{"pattern": tree{"metadata": tree{"annotations": tree{"never": "?*"}}}}}
	spec := tree{"validationFailureAction": r.one("Enforce", "Enforce", "Warn", "Audit"), "rules": items{rule}}
	r.maybe(rule, "exclude", r.block)
	r.maybe(spec, "validationFailureActionOverrides", func() any {
		return items{tree{"action": r.one("Audit", "Warn", "Enforce"), "namespaceSelector": r.plainSelector()}, tree{"action": r.one("Audit", "Warn", "Enforce"), "namespaceSelector": r.plainSelector()}}
	})
	return tree{"apiVersion": "sallyport.io/v1alpha1", "kind": "ClusterPolicy", "metadata": tree{"name": "random"}, "spec": spec}
}

// plainSelector has no wildcards.
func (r randomly) plainSelector() any {
	return tree{"matchExpressions": items{tree{"key": r.one("a", "b"), "operator": r.one("In", "NotIn"), "values": items{r.one("x", "y")}}}}
}

// violated is a policy that each probe violates.
const violated = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: random}
spec:
  rules:
  - name: never
    match: {any: [{resources: {kinds: ["*"]}}]}
    validate: {pattern: {metadata: {annotations: {never: "?*"}}}}`

// probes are requests that violate a rule, if it is about them, in and about a
// namespace of these labels.
func probes(t *testing.T, labels set) []*request.Request {
	t.Helper()
	state := clusterOf(t, namespace("shop", labels))
	var all []*request.Request
	add := func(gvk schema.GroupVersionKind, resource, document string) {
		r := created(t, state, gvk, resource, document)
		all = append(all, r)
		update := *r
		update.Operation = request.Update
		old, err := pod.Default().Decode(gvk, []byte(`{"apiVersion":"`+gvk.GroupVersion().String()+`","kind":"`+gvk.Kind+`","metadata":{"name":"`+r.Name+`","namespace":"`+r.Object.Meta.Namespace+`","annotations":{"never":"x"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		old.Meta.Labels = r.Object.Meta.Labels
		update.OldObject = old
		all = append(all, &update)
	}
	const template = `, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}`
	for _, name := range []string{"n1", "m2", "z"} {
		for _, own := range []string{`{}`, `{"a": "x"}`} {
			meta := `{"name": "` + name + `", "namespace": "shop", "labels": ` + own + `}`
			add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", `{"apiVersion": "v1", "kind": "Pod", "metadata": `+meta+`, "spec": {"containers": [{"name": "a", "image": "a"}]}}`)
			add(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", `{"apiVersion": "v1", "kind": "Service", "metadata": `+meta+`}`)
			add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": `+meta+`}`)
			add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": `+meta+template+`}`)
		}
	}
	own, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": `+string(own)+`}}`)
	for _, r := range all {
		r.Namespace = "shop"
		// Only the rule under test is of interest.
		r.User.Name = ""
	}
	return all
}

// strength is how much a policy does about a request: nothing, or what its action is.
func strength(s *Set, r *request.Request) int {
	most := 0
	for _, result := range s.Decide(context.Background(), r).Results {
		if result.Rule == stored.RuleNamespaceLabels || result.Status == decision.Skip || result.Status == decision.Pass {
			continue
		}
		most = max(most, map[decision.Action]int{decision.ActionAudit: 1, decision.ActionWarn: 2, decision.Enforce: 3}[result.Action])
	}
	return most
}

// For policies and exceptions of all kinds, a change of labels is refused if, and
// only if, some request is judged more weakly after it than before.
func TestRandomLabelsOfNamespaces(t *testing.T) {
	r := randomly{rand.New(rand.NewPCG(4, 18))}
	state := clusterOf(t, namespace("shop", nil))
	judged := map[string][]*request.Request{}
	probesOf := func(labels set) []*request.Request {
		key := fmt.Sprint(labels)
		if judged[key] == nil {
			judged[key] = probes(t, labels)
		}
		return judged[key]
	}
	tried, refused := 0, 0
	for i := range 4000 {
		var text []byte
		var documents []string
		if i%3 > 0 {
			text, _ = json.Marshal(r.policy(r.block()))
			documents = []string{string(text)}
		} else {
			text, _ = json.Marshal(tree{"apiVersion": "sallyport.io/v1alpha1", "kind": "ClusterPolicyException", "metadata": tree{"name": "random"},
				"spec": tree{"reason": "r", "exceptions": items{tree{"policyName": "random"}}, "match": r.block()}})
			documents = []string{violated, string(text)}
		}
		compiled, problems := Compile(sourcesOf(t, documents...), pod.Default(), exception.Options{Began: judgedAt})
		if len(problems) > 0 {
			// What can match nothing is not a policy.
			continue
		}
		tried++
		before, after := r.labels(), r.labels()
		weaker := ""
		now, then := probesOf(after), probesOf(before)
		for j := range now {
			if was, is := strength(compiled, then[j]), strength(compiled, now[j]); is < was {
				weaker = fmt.Sprintf("%s of %s %s %v: %d, was %d", now[j].Operation, now[j].Kind.Kind, now[j].Name, now[j].Object.Meta.Labels, is, was)
				break
			}
		}
		results := resultsAboutLabels(compiled.Decide(t.Context(), relabelRequest(t, state, "alice", before, after)))
		if (len(results) > 0) != (weaker != "") {
			t.Fatalf("after %d: weaker %q, but refused %v\n%v -> %v\n%s\n%+v", tried, weaker, len(results) > 0, before, after, text, results)
		}
		if weaker != "" {
			refused++
		}
	}
	if tried < 1500 || refused < 200 || refused > tried-200 {
		t.Errorf("%d policies were tried, %d changes refused; that says little", tried, refused)
	}
}
