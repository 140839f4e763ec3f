package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestRulesThatMayBeAbout are about an object, or what it makes, only if its namespace has
// a label that cannot be read. No one knows whether they are, and in which form, so that
// each refuses what meets the standard.
func TestRulesThatMayBeAbout(t *testing.T) {
	const (
		labelled = ", namespaceSelector: {matchLabels: {env: test}}"
		podKind  = "apiVersion: v1\nkind: Pod\nmetadata: {name: f, namespace: shop}\nspec: {containers: [{name: c, image: \"a:1\"}]}\n"
	)
	clean := strings.Replace(dirtyFarm, ", securityContext: {privileged: true}", "", 1)
	for name, c := range map[string]struct{ match, exclude, document string }{
		"a Pod that is matched":                {"{kinds: [Pod]" + labelled + "}", "", podKind},
		"a Pod that is excluded":               {"{kinds: [Pod]}", "{kinds: [Pod]" + labelled + "}", podKind},
		"the pods of what is matched":          {"{kinds: [Pod]" + labelled + "}", "", clean},
		"the pods of what is excluded":         {"{kinds: [Pod]}", "{kinds: [Farm]" + labelled + "}", clean},
		"what makes pods that are matched":     {"{kinds: [Pod]}}, {resources: {kinds: [Farm]" + labelled + "}", "", clean},
		"the pods of another Pod":              {"{kinds: [Pod]}", "{kinds: [v1/Pod]" + labelled + "}", strings.Replace(clean, "Farm", "Pod", 1)},
		"another Pod that may be excluded":     {"{kinds: [Pod]}", "{kinds: [x.io/*/Pod]" + labelled + "}", strings.Replace(clean, "Farm", "Pod", 1)},
		"another Pod, by the group of its own": {"{kinds: [v1/Pod]" + labelled + "}}, {resources: {kinds: [x.io/*/Pod]}", "", strings.Replace(clean, "Farm", "Pod", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			spec := "match: {any: [{resources: " + c.match + "}]}"
			if c.exclude != "" {
				spec += ", exclude: {any: [{resources: " + c.exclude + "}]}"
			}
			policy := strings.Replace(yamlOf("ClusterPolicy", "p", "spec: {rules: [{name: r, "+spec+", validate: {podSecurity: {level: baseline}}}]}"),
				"name: p", "name: p, annotations: {sallyport.io/autogen-controllers: all}", 1)
			store, i := started(t, policy, yamlOf("PodKind", "farms", strings.Replace(farms, "Barn", "Pod", 1)))
			set := store.Set()
			if len((*i.store.ofAPI.Load())) > 0 || len(set.Broken()) > 0 || len(set.rules.All) != 1 {
				t.Fatal((*i.store.ofAPI.Load()), set.Broken())
			}
			r := writes(t, set, c.document)
			r.Cluster = unreadable{}
			d := set.Decide(t.Context(), r)
			if got := only(t, d); !d.Refuses() || got.Status != decision.Error || !strings.Contains(got.Message, errUnreadable.Error()) {
				t.Errorf("%+v", got)
			}
			if form, ok, err := set.rules.All[0].Applies(&call.Call{Ctx: t.Context(), Request: r}); ok || err == nil {
				t.Errorf("it applies in form %v: %v, %v", form, ok, err)
			}
			r.Cluster = clusterOf(t, namespace("shop", nil))
			if d := set.Decide(t.Context(), r); d.Refuses() {
				t.Errorf("it refuses once the labels can be read: %s", messages(d))
			}
		})
	}
}
