package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// updated is an update of an object by a subresource.
func updated(t *testing.T, apiVersion, kind, resource, subresource, old, now string) *request.Request {
	t.Helper()
	gvk, document := object(apiVersion, kind, now)
	r := created(t, emptyCluster(t), gvk, resource, document)
	_, before := object(apiVersion, kind, old)
	r.Operation, r.Subresource, r.OldObject = request.Update, subresource, created(t, emptyCluster(t), gvk, resource, before).Object
	return r
}

// TestSubresourcesThatChangePods holds rules about Pods against each way to change
// one, in the languages that rules are written in.
func TestSubresourcesThatChangePods(t *testing.T) {
	const (
		small    = "metadata: {name: web, namespace: dev, labels: {team: blue}}\nspec: {containers: [{name: c, image: nginx, resources: {limits: {cpu: \"1\"}}}]}"
		pods     = "match: {any: [{resources: {kinds: [Pod]}}]}\n    "
		byCPU    = "validate: {pattern: {spec: {containers: [{resources: {limits: {cpu: \"<=4\"}}}]}}}"
		byCEL    = "validate: {cel: {expressions: [{expression: \"object.spec.containers.all(c, quantity(c.resources.limits.cpu).compareTo(quantity('4')) <= 0)\"}]}}"
		byLabel  = "validate: {pattern: {metadata: {labels: {team: \"?*\"}}}}"
		baseline = "validate: {podSecurity: {level: baseline}}"
	)
	large := strings.Replace(small, `cpu: "1"`, `cpu: "16"`, 1)
	unlabelled := strings.Replace(small, "team: blue", "a: b", 1)
	excused := "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [KIND]}}]}}"
	for name, c := range map[string]struct {
		rule, subresource, old, now string
		more                        []string
		want                        []decision.Status
	}{
		"resize, by a pattern":               {pods + byCPU, "resize", small, large, nil, []decision.Status{decision.Fail}},
		"resize, by CEL":                     {pods + byCEL, "resize", small, large, nil, []decision.Status{decision.Fail}},
		"resize that is allowed":             {pods + byCPU, "resize", small, strings.Replace(small, `cpu: "1"`, `cpu: "3"`, 1), nil, []decision.Status{decision.Pass}},
		"resize, by a standard":              {pods + baseline, "resize", small, large, nil, nil},
		"resize, by a rule for Pod/resize":   {strings.Replace(pods, "[Pod]", "[Pod/resize]", 1) + byCPU, "resize", small, large, nil, []decision.Status{decision.Fail}},
		"resize, by a rule for every kind":   {strings.Replace(pods, "[Pod]", `["*"]`, 1) + byCPU, "resize", small, large, nil, []decision.Status{decision.Fail}},
		"resize of what is excluded":         {pods + "exclude: {any: [{resources: {kinds: [Pod], names: [web]}}]}\n    " + byCPU, "resize", small, large, nil, nil},
		"resize, excused for Pod":            {pods + byCPU, "resize", small, large, []string{strings.Replace(excused, "KIND", "Pod", 1)}, []decision.Status{decision.Skip}},
		"resize, excused for another kind":   {pods + byCPU, "resize", small, large, []string{strings.Replace(excused, "KIND", "Deployment", 1)}, []decision.Status{decision.Fail}},
		"resize, as before":                  {pods + byCPU, "resize", large, large, nil, []decision.Status{decision.Pass}},
		"status that takes a label away":     {pods + byLabel, "status", small, unlabelled, nil, []decision.Status{decision.Fail}},
		"status, by a rule for Pod/status":   {strings.Replace(pods, "[Pod]", "[Pod/status]", 1) + byLabel, "status", small, unlabelled, nil, []decision.Status{decision.Fail}},
		"status, excused for Pod":            {pods + byLabel, "status", small, unlabelled, []string{strings.Replace(excused, "KIND", "Pod", 1)}, []decision.Status{decision.Skip}},
		"status that sets an annotation":     {pods + "validate: {pattern: {metadata: {\"X(annotations)\": \"\"}}}", "status", small, strings.Replace(small, "namespace: dev", "namespace: dev, annotations: {a: b}", 1), nil, []decision.Status{decision.Fail}},
		"status and nothing else":            {pods + byLabel, "status", unlabelled, unlabelled + "\nstatus: {phase: Running}", nil, nil},
		"ephemeral containers, by a pattern": {pods + "validate: {pattern: {spec: {\"=(ephemeralContainers)\": [{image: \"registry/*\"}]}}}", "ephemeralcontainers", small, strings.Replace(small, "spec: {", "spec: {ephemeralContainers: [{name: d, image: evil}], ", 1), nil, []decision.Status{decision.Fail}},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, append([]string{rulePolicy("", c.rule)}, c.more...)...)
			var got []decision.Status
			for _, result := range set.Decide(t.Context(), updated(t, "v1", "Pod", "pods", c.subresource, c.old, c.now)).Results {
				got = append(got, result.Status)
			}
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestLabelsByStatusOfOthers judges an update of the status of what makes pods that
// changes its labels.
func TestLabelsByStatusOfOthers(t *testing.T) {
	for resource, head := range map[string][2]string{"replicationcontrollers": {"v1", "ReplicationController"}, "statefulsets": {"apps/v1", "StatefulSet"}, "jobs": {"batch/v1", "Job"}} {
		policy := rulePolicy("", "match: {any: [{resources: {kinds: ["+head[1]+"]}}]}\n    validate: {pattern: {metadata: {labels: {team: \"?*\"}}}}")
		const labelled = "metadata: {name: x, namespace: dev, labels: {team: blue}}\nspec: {template: {spec: {containers: [{name: c, image: nginx}]}}}"
		got := only(t, setOf(t, policy).Decide(t.Context(), updated(t, head[0], head[1], resource, "status", labelled, strings.Replace(labelled, "team: blue", "a: b", 1))))
		if got.Status != decision.Fail {
			t.Errorf("%s: %+v", resource, got)
		}
		if d := setOf(t, policy).Decide(t.Context(), updated(t, head[0], head[1], resource, "status", labelled, labelled+"\nstatus: {a: b}")); len(d.Results) > 0 {
			t.Errorf("%s, only the status: %+v", resource, d.Results)
		}
	}
}
