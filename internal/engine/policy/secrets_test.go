package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestSecretsAreNotShown keeps what stands in a Secret out of findings, which
// others read in reports and audit events.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "aHVudGVyMg=="
	for name, validate := range map[string]string{
		"a value":   "\n    validate: {pattern: {data: {password: \"x*\"}}}",
		"the map":   "\n    validate: {pattern: {\"X(data)\": \"\"}}",
		"any of it": "\n    validate: {anyPattern: [{data: {password: \"x*\"}}, {data: \"y\"}]}",
	} {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("v1", "Secret", "metadata: {name: s, namespace: dev}\ndata: {password: "+secret+"}")
			got := only(t, setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}}]}"+validate)).Decide(t.Context(), created(t, emptyCluster(t), gvk, "secrets", document)))
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != decision.Fail || len(got.Findings) == 0 || got.Findings[0].Path == "" || strings.Contains(string(text), secret) {
				t.Errorf("%s", text)
			}
		})
	}
}

// TestSecretsOfOthersAreShown: only the kind of Kubernetes holds what is shown to no one.
func TestSecretsOfOthersAreShown(t *testing.T) {
	gvk, document := object("example.com/v1", "Secret", "metadata: {name: s, namespace: dev}\ndata: {password: visible}")
	got := only(t, setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [example.com/v1/Secret]}}]}\n    validate: {pattern: {data: {password: \"x*\"}}}")).Decide(t.Context(), created(t, emptyCluster(t), gvk, "secrets", document)))
	if len(got.Findings) != 1 || got.Findings[0].Value != "visible" {
		t.Errorf("%+v", got)
	}
}

// TestLabelsByStatus judges an update of a Pod's status that changes its labels as
// an update of the Pod.
func TestLabelsByStatus(t *testing.T) {
	policy := rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {pattern: {metadata: {labels: {team: \"?*\"}}}}")
	const labelled = "metadata: {name: x, namespace: dev, labels: {team: blue}}\nspec: {containers: [{name: c, image: nginx}]}"
	for name, c := range map[string]struct {
		updated string
		want    []decision.Status
	}{
		"the label is taken off": {strings.Replace(labelled, "team: blue", "a: b", 1), []decision.Status{decision.Fail}},
		"another is set":         {strings.Replace(labelled, "team: blue", "team: red", 1), []decision.Status{decision.Pass}},
		"only the status":        {labelled + "\nstatus: {phase: Running}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("v1", "Pod", c.updated)
			_, before := object("v1", "Pod", labelled)
			r := created(t, emptyCluster(t), gvk, "pods", document)
			r.Operation, r.Subresource, r.OldObject = request.Update, "status", created(t, emptyCluster(t), gvk, "pods", before).Object
			var got []decision.Status
			for _, result := range setOf(t, policy).Decide(t.Context(), r).Results {
				got = append(got, result.Status)
			}
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestObjectsAboutExceptions lets the API server make their names, and somebody
// label what has lost its effect.
func TestObjectsAboutExceptions(t *testing.T) {
	const body = "metadata: {NAME, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}}"
	set := setOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: none}\nspec: {policies: [p], allowedSubjects: []}")
	free := setOf(t)
	exception := func(meta string) *request.Request {
		gvk, document := object("sallyport.io/v1alpha1", "PolicyException", strings.Replace(body, "NAME", meta, 1))
		return created(t, emptyCluster(t), gvk, "policyexceptions", document)
	}
	if d := free.Decide(t.Context(), exception("generateName: e-")); d.Refuses() {
		t.Errorf("generateName: %+v", d.Results)
	}
	if d := free.Decide(t.Context(), exception("labels: {a: b}")); !d.Refuses() {
		t.Error("neither a name nor generateName is let in")
	}
	if d := set.Decide(t.Context(), exception("name: e")); !d.Refuses() {
		t.Error("an exception that may not be is let in")
	}
	update := exception("name: e, labels: {a: b}")
	update.Operation, update.OldObject = request.Update, exception("name: e").Object
	if d := set.Decide(t.Context(), update); d.Refuses() {
		t.Errorf("a label: %+v", d.Results)
	}
	_, other := object("sallyport.io/v1alpha1", "PolicyException", strings.Replace(strings.Replace(body, "NAME", "name: e", 1), "kinds: [Pod]", "kinds: [Job]", 1))
	update.OldObject = created(t, emptyCluster(t), update.Object.GVK, "policyexceptions", other).Object
	if d := set.Decide(t.Context(), update); !d.Refuses() {
		t.Error("another match is let in")
	}
}
