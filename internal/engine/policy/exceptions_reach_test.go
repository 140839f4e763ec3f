package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestNamesOfPolicies says which policies an exception of which kind reaches by
// which name.
func TestNamesOfPolicies(t *testing.T) {
	clusterWide := rulePolicy("", "match: {any: [{resources: {kinds: [Deployment]}}]}"+never)
	own := strings.Replace(strings.Replace(clusterWide, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p", "{name: p, namespace: dev", 1)
	given := func(kind, named string) string {
		namespace := ""
		if kind == "PolicyException" {
			namespace = ", namespace: dev"
		}
		return "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: e" + namespace + "}\nspec: {exceptions: [{policyName: " + named + "}], match: {any: [{resources: {kinds: [Deployment]}}]}}"
	}
	const any = "apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: any}\nspec: {policies: [\"*\"], allowAnyPolicy: true}"
	cases := map[string]struct {
		kind, named string
		// excused are a ClusterPolicy, and a Policy of namespace dev.
		clusterPolicy, policy bool
	}{
		"by a bare name":                       {"PolicyException", "p", true, true},
		"by the name of a Policy":              {"PolicyException", "dev/p", false, true},
		"by that of another namespace":         {"PolicyException", "prod/p", false, false},
		"of the cluster, by a bare name":       {"ClusterPolicyException", "p", true, false},
		"of the cluster, by a Policy's":        {"ClusterPolicyException", "dev/p", false, true},
		"of the cluster, by a pattern":         {"ClusterPolicyException", "\"*\"", true, false},
		"of the cluster, by two":               {"ClusterPolicyException", "\"*/*\"", false, true},
		"of the cluster, by another namespace": {"ClusterPolicyException", "prod/p", false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("apps/v1", "Deployment", templateBody)
			for policy, excused := range map[string]bool{clusterWide: c.clusterPolicy, own: c.policy} {
				got := only(t, setOf(t, policy, any, given(c.kind, c.named)).Decide(t.Context(), created(t, emptyCluster(t), gvk, "deployments", document)))
				if (got.Status == decision.Skip) != excused {
					t.Errorf("%s: %s, want excused %v", got.Kind, got.Status, excused)
				}
			}
		})
	}
}

// TestExceptionsOutOfTime are told of by the rule that they would have excused.
func TestExceptionsOutOfTime(t *testing.T) {
	policy := rulePolicy("", "match: {any: [{resources: {kinds: [Deployment]}}]}"+never)
	for name, c := range map[string]struct{ spec, says string }{
		"over":            {`, expiresAt: "2020-01-01T00:00:00Z"`, "PolicyException dev/e does not excuse it: it ended at 2020-01-01T00:00:00Z"},
		"not yet valid":   {`, notBefore: "2040-01-01T00:00:00Z"`, "PolicyException dev/e does not excuse it: it is not valid before 2040-01-01T00:00:00Z"},
		"kept out":        {`, reason: "", expiresAt: "2040-01-01T00:00:00Z"`, "PolicyException dev/e does not excuse it: spec.reason: Required value: give a reason: ExceptionPolicy rules asks for it"},
		"made later":      {`, duration: 1h`, "it is not valid before 2039-01-01T00:00:00Z"},
		"made later, end": {`, expiresAt: "2040-01-01T00:00:00Z"`, "it is not valid before 2039-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			made := ""
			if strings.HasPrefix(name, "made") {
				made = `, creationTimestamp: "2039-01-01T00:00:00Z"`
			}
			gvk, document := object("apps/v1", "Deployment", templateBody)
			given := "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev" + made + "}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Deployment]}}]}" + c.spec + "}"
			documents := []string{policy, given}
			if name == "kept out" {
				documents = append(documents, "apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: rules}\nspec: {policies: [p], requireReason: true}")
			}
			var sources Sources
			for _, document := range documents {
				if problems := addYAML(t, &sources, document); problems != nil {
					t.Fatal(problems)
				}
			}
			set, _ := Compile(sources, pod.Default(), exception.Options{})
			got := only(t, set.Decide(t.Context(), created(t, emptyCluster(t), gvk, "deployments", document)))
			if got.Status != decision.Fail || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// TestAnswersOfFiles go by what they say of themselves.
func TestAnswersOfFiles(t *testing.T) {
	const asked = "apiVersion: sallyport.io/v1alpha1\nkind: PolicyExceptionRequest\nmetadata: {name: q, namespace: dev, resourceVersion: \"5\"}\nspec: {exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Deployment]}}]}}"
	policy := rulePolicy("", "match: {any: [{resources: {kinds: [Deployment]}}]}"+never)
	answer := func(name, meta, spec string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyExceptionResponse\nmetadata: {name: " + name + meta + "}\nspec: {name: q, namespace: dev, status: Approved" + spec + "}"
	}
	for name, c := range map[string]struct {
		answers []string
		want    decision.Status
	}{
		"approved":              {[]string{answer("a", "", "")}, decision.Skip},
		"approved, and over":    {[]string{answer("a", "", `, expiresAt: "2020-01-01T00:00:00Z"`)}, decision.Fail},
		"approved, until later": {[]string{answer("a", "", `, expiresAt: "2040-01-01T00:00:00Z"`)}, decision.Skip},
		"approved in future":    {[]string{answer("a", "", `, approvalTime: "2040-01-01T00:00:00Z"`)}, decision.Fail},
		"of another version":    {[]string{answer("a", "", `, requestResourceVersion: "4"`)}, decision.Fail},
		"of this version":       {[]string{answer("a", "", `, requestResourceVersion: "5"`)}, decision.Skip},
		"of something else":     {[]string{answer("a", "", `, exceptions: [{policyName: other}]`)}, decision.Fail},
		"of the same":           {[]string{answer("a", "", `, exceptions: [{policyName: p}]`)}, decision.Skip},
		"edited afterwards":     {[]string{answer("a", ", generation: 2", "")}, decision.Fail},
		"twice":                 {[]string{answer("a", "", ""), answer("b", "", "")}, decision.Fail},
		"and denied":            {[]string{answer("a", "", ""), strings.Replace(answer("b", "", ""), "Approved", "Denied", 1)}, decision.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("apps/v1", "Deployment", templateBody)
			got := only(t, setOf(t, append([]string{policy, asked}, c.answers...)...).Decide(t.Context(), created(t, emptyCluster(t), gvk, "deployments", document)))
			if got.Status != c.want {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// TestDurationsOfFiles are counted again each time, which is said.
func TestDurationsOfFiles(t *testing.T) {
	var sources Sources
	if problems := addYAML(t, &sources, "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}, duration: 30d}"); problems != nil {
		t.Fatal(problems)
	}
	if problems := addYAML(t, &sources, rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never)); problems != nil {
		t.Fatal(problems)
	}
	for i := range sources.Exceptions.Exceptions {
		sources.Exceptions.Exceptions[i].Origin = "e.yaml"
	}
	set, problems := Compile(sources, pod.Default(), exception.Options{Began: time.Now()})
	if len(problems) > 0 || len(set.Warnings()) != 1 || set.Warnings()[0].Path != "spec.duration" {
		t.Errorf("problems %v, warnings %v", problems, set.Warnings())
	}
	if _, problems := Compile(sources, pod.Default(), exception.Options{}); len(problems) != 1 || problems[0].Path != "spec.duration" {
		t.Errorf("where it cannot be counted: problems %v", problems)
	}
}

// TestVacuousPatterns are refused: they require nothing, or what nothing has.
func TestVacuousPatterns(t *testing.T) {
	for validate, path := range map[string]string{
		"{pattern: {}}":      "spec.rules[0].validate.pattern",
		"{pattern: x}":       "spec.rules[0].validate.pattern",
		"{pattern: []}":      "spec.rules[0].validate.pattern",
		"{anyPattern: [{}]}": "spec.rules[0].validate.anyPattern[0]",
		"{anyPattern: [{spec: {a: b}}, x, null]}": "spec.rules[0].validate.anyPattern[1]",
	} {
		var sources Sources
		problems := addYAML(t, &sources, rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: "+validate))
		if len(problems) == 0 {
			_, problems = Compile(sources, pod.Default(), exception.Options{})
		}
		if len(problems) == 0 || problems[0].Path != path {
			t.Errorf("%s: problems %v, want one at %s", validate, problems, path)
		}
	}
}

// TestExceptionsElsewhere says which exceptions hold in another cluster than the
// one that they are kept in.
func TestExceptionsElsewhere(t *testing.T) {
	const spec = "spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}}"
	for _, tt := range []struct {
		name, given string
		elsewhere   bool
		want        decision.Status
		message     string
	}{
		{"of a namespace, in its cluster", "kind: PolicyException\nmetadata: {name: e, namespace: dev}\n", false, decision.Skip, ""},
		{"of a namespace, in another cluster", "kind: PolicyException\nmetadata: {name: e, namespace: dev}\n", true, decision.Fail, "only in its own cluster"},
		{"of every namespace, in its cluster", "kind: ClusterPolicyException\nmetadata: {name: e}\n", false, decision.Skip, ""},
		{"of every namespace, in another cluster", "kind: ClusterPolicyException\nmetadata: {name: e}\n", true, decision.Skip, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, requireLabels, "apiVersion: sallyport.io/v1alpha1\n"+tt.given+spec)
			r := created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
			r.Elsewhere = tt.elsewhere
			got := only(t, set.Decide(t.Context(), r))
			if got.Status != tt.want || !strings.Contains(got.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", got.Status, got.Message, tt.want, tt.message)
			}
		})
	}
}
