package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// TestScaleForgotten warns of rules about spec.replicas that are not asked about scale,
// and of no others.
func TestScaleForgotten(t *testing.T) {
	const (
		few   = "pattern: {spec: {replicas: '<=5'}}"
		byCEL = "cel: {expressions: [{expression: object.spec.replicas <= 5}]}"
	)
	on := func(resources, validate string) string {
		return rulePolicy("", "match: {any: [{resources: {"+resources+"}}]}\n    validate: {"+validate+"}")
	}
	another := func(resources string) string {
		return "\n  - name: second\n    match: {any: [{resources: {" + resources + "}}]}\n    validate: {pattern: {spec: {replicas: '<=5'}}}"
	}
	for name, c := range map[string]struct{ policy, says string }{
		"a pattern":                       {on("kinds: [Deployment]", few), "write Deployment/scale as well: beside the kind, as the rule asks nothing else"},
		"any of some":                     {on("kinds: [Deployment]", "anyPattern: [{spec: {paused: true}}, {spec: {=(replicas): 1}}]"), "Deployment/scale as well: into a rule of its own"},
		"a pattern that asks more":        {on("kinds: [StatefulSet]", "pattern: {metadata: {labels: {a: b}}, spec: {replicas: 1}}"), "StatefulSet/scale as well: into a rule of its own"},
		"where replicas are a condition":  {on("kinds: [Deployment]", "pattern: {spec: {(replicas): '>1', paused: true}}"), ""},
		"an expression":                   {on("kinds: [Deployment, ReplicaSet]", byCEL), "write Deployment/scale, ReplicaSet/scale as well: beside the kind where"},
		"an optional field":               {on("kinds: [Deployment]", "cel: {expressions: [{expression: 'object.spec.?replicas.orValue(1) <= 5'}]}"), "Deployment/scale"},
		"a variable":                      {on("kinds: [Deployment]", "cel: {variables: [{name: count, expression: \"object.spec['replicas']\"}], expressions: [{expression: variables.count <= 5}]}"), "Deployment/scale"},
		"the status":                      {on("kinds: [Deployment]", "cel: {expressions: [{expression: '!has(object.status.replicas)'}]}"), ""},
		"another field":                   {on("kinds: [Deployment]", "cel: {expressions: [{expression: object.spec.paused == true}]}"), ""},
		"the subresource beside the kind": {on("kinds: [Deployment, Deployment/scale]", few), ""},
		"each subresource":                {on("kinds: [Deployment, '*/scale']", byCEL), ""},
		"that of another kind":            {on("kinds: [Deployment, StatefulSet/scale]", few), "Deployment/scale"},
		"in a rule of its own":            {on("kinds: [Deployment]", few) + another("kinds: [Deployment/scale]"), ""},
		"what is only created":            {on("kinds: [Deployment], operations: [CREATE]", few), ""},
		"what is created and updated":     {on("kinds: [Deployment], operations: [CREATE, UPDATE]", few), "Deployment/scale"},
		"a custom kind that scales":       {on("kinds: [Rollout]", few), "Rollout/scale"},
		"a custom kind":                   {on("kinds: [example.com/v1/Widget]", few), ""},
		"a kind of the core group":        {on("kinds: [ReplicationController]", few), "ReplicationController/scale"},
		"a kind that does not scale":      {on("kinds: [DaemonSet]", "cel: {expressions: [{expression: '!has(object.spec.replicas)'}]}"), ""},
		"that is excluded":                {strings.Replace(on("kinds: [Deployment, StatefulSet]", few), "\n    validate", "\n    exclude: {any: [{resources: {kinds: [StatefulSet]}}]}\n    validate", 1), "write Deployment/scale as well"},
	} {
		warnings := setOf(t, c.policy).Warnings()
		if (len(warnings) > 0) != (c.says != "") || len(warnings) > 1 {
			t.Errorf("%s: %v, want %q", name, warnings, c.says)
			continue
		}
		if len(warnings) == 1 && (warnings[0].Reason != effect.ScaleForgotten.Reason || warnings[0].Path != "spec.rules[0].match" || !strings.Contains(warnings[0].Detail, c.says)) {
			t.Errorf("%s: %v, want %q", name, warnings, c.says)
		}
	}
}

// TestScaleIsJudged has what the warning says to write refuse a scale, which is let in
// without.
func TestScaleIsJudged(t *testing.T) {
	const one, ten = "metadata: {name: web, namespace: shop}\nspec: {replicas: 1}", "metadata: {name: web, namespace: shop}\nspec: {replicas: 10}"
	for kinds, want := range map[string]int{"[Deployment]": 0, "[Deployment, Deployment/scale]": 1} {
		for _, validate := range []string{"pattern: {spec: {replicas: '<=5'}}", "cel: {expressions: [{expression: object.spec.replicas <= 5}]}"} {
			r := updated(t, "autoscaling/v1", "Scale", "deployments", clusterpolicy.ScaleSubresource, one, ten)
			r.Resource.Group = "apps"
			d := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: "+kinds+"}}]}\n    validate: {"+validate+"}")).Decide(t.Context(), r)
			if len(d.Results) != want || want == 1 && d.Results[0].Status != decision.Fail {
				t.Errorf("%s, %s: %+v", kinds, validate, d.Results)
			}
		}
	}
}
