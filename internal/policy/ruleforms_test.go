package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/request"
)

// rulePolicy is a ClusterPolicy with one rule that nothing passes.
func rulePolicy(annotations, rule string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p, annotations: {" + annotations + "}}\nspec:\n  rules:\n  - name: r\n    " + rule
}

const never = "\n    validate: {pattern: {metadata: {labels: {never: \"?*\"}}}}"

func object(apiVersion, kind, body string) (schema.GroupVersionKind, string) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err)
	}
	return gv.WithKind(kind), "apiVersion: " + apiVersion + "\nkind: " + kind + "\n" + body
}

const (
	templateBody = "metadata: {name: x, namespace: dev, labels: {own: label}}\nspec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}"
	cronBody     = "metadata: {name: x, namespace: dev}\nspec: {jobTemplate: {spec: {template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}}}"
	podBody      = "metadata: {name: x, namespace: dev, labels: {app: a}}\nspec: {containers: [{name: c, image: nginx}]}"
)

// TestGeneratedRules says under which names a rule about Pods holds for what.
func TestGeneratedRules(t *testing.T) {
	const pods = "match: {any: [{resources: {kinds: [Pod]}}]}"
	cases := map[string]struct {
		annotations, match     string
		apiVersion, kind, body string
		want, path             string
	}{
		"a Pod":                     {"", pods, "v1", "Pod", podBody, "r", "metadata.labels.never"},
		"a Deployment":              {"", pods, "apps/v1", "Deployment", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a ReplicaSet":              {"", pods, "apps/v1", "ReplicaSet", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a Job":                     {"", pods, "batch/v1", "Job", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a CronJob":                 {"", pods, "batch/v1", "CronJob", cronBody, "autogen-cronjob-r", "spec.jobTemplate.spec.template.metadata.labels.never"},
		"a custom kind":             {"", pods, "argoproj.io/v1alpha1", "Rollout", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a ConfigMap":               {"", pods, "v1", "ConfigMap", "metadata: {name: x, namespace: dev}", "", ""},
		"none":                      {"sallyport.io/autogen-controllers: none", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"none, for a Pod":           {"sallyport.io/autogen-controllers: none", pods, "v1", "Pod", podBody, "r", ""},
		"a list that names it":      {"sallyport.io/autogen-controllers: \"Deployment,CronJob\"", pods, "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"a list that does not":      {"sallyport.io/autogen-controllers: \"CronJob\"", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"the older annotation":      {"pod-policies.kyverno.io/autogen-controllers: none", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"by a selector: none":       {"", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {own: label}}}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"by a selector, told to":    {"sallyport.io/autogen-controllers: Deployment", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {own: label}}}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"by names: none":            {"", "match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"mixed kinds: none":         {"", "match: {any: [{resources: {kinds: [Pod, StatefulSet]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"mixed kinds, the other":    {"", "match: {any: [{resources: {kinds: [Pod, Deployment]}}]}", "apps/v1", "Deployment", templateBody, "r", "metadata.labels.never"},
		"its own subresource":       {"", "match: {any: [{resources: {kinds: [Pod, Pod/ephemeralcontainers]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"a pattern, told to":        {"sallyport.io/autogen-controllers: all", "match: {any: [{resources: {kinds: [\"Po?\"]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"the short form":            {"", "match: {resources: {kinds: [Pod]}}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"its own kind is excluded":  {"", pods + "\n    exclude: {any: [{resources: {kinds: [Deployment]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"its namespace is excluded": {"", pods + "\n    exclude: {any: [{resources: {namespaces: [dev]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"another is excluded":       {"", pods + "\n    exclude: {any: [{resources: {namespaces: [prod]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"who asks is excluded":      {"", pods + "\n    exclude: {any: [{subjects: [{kind: User, name: alice}]}]}", "v1", "Pod", podBody, "", ""},
		"somebody else is":          {"", pods + "\n    exclude: {any: [{subjects: [{kind: User, name: bob}]}]}", "v1", "Pod", podBody, "r", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gvk, document := object(c.apiVersion, c.kind, c.body)
			set := setOf(t, rulePolicy(c.annotations, c.match+never))
			d := set.Decide(t.Context(), created(t, emptyCluster(t), gvk, "things", document))
			if c.want == "" {
				if len(d.Results) > 0 {
					t.Errorf("results %+v, want none", d.Results)
				}
				return
			}
			got := only(t, d)
			if got.Rule != c.want || got.Status != decision.Fail {
				t.Errorf("rule %s %s, want %s to fail", got.Rule, got.Status, c.want)
			}
			if c.path != "" && (len(got.Findings) != 1 || got.Findings[0].Path != c.path) {
				t.Errorf("findings %+v, want one at %s", got.Findings, c.path)
			}
		})
	}
}

// TestWarningsOfRules names what is not generated.
func TestWarningsOfRules(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, match string
		warning            string
	}{
		"plain":               {"", "match: {any: [{resources: {kinds: [Pod]}}]}", ""},
		"names":               {"", "match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", "match: goes by names"},
		"a selector":          {"", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}", "match: goes by names, selectors"},
		"annotations":         {"", "match: {any: [{resources: {kinds: [Pod], annotations: {a: b}}}]}", "match: goes by names, selectors or annotations"},
		"mixed":               {"", "match: {any: [{resources: {kinds: [Pod, Service]}}]}", "match: is about Pods and other kinds"},
		"names, told not to":  {"sallyport.io/autogen-controllers: none", "match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", ""},
		"other kinds":         {"", "match: {any: [{resources: {kinds: [Service]}}]}", ""},
		"a pattern":           {"", "match: {any: [{resources: {kinds: [\"Po?\"]}}]}", "match: is about Pods by a pattern"},
		"another pattern":     {"", "match: {any: [{resources: {kinds: [\"*Pod\"]}}]}", "match: is about Pods by a pattern"},
		"a way in beside":     {"", "match: {any: [{resources: {kinds: [Pod, Pod/exec]}}]}", "match: is about Pods and other kinds"},
		"a way in alone":      {"", "match: {any: [{resources: {kinds: [Pod/exec]}}]}", ""},
		"its own subresource": {"", "match: {any: [{resources: {kinds: [Pod, Pod/ephemeralcontainers]}}]}", ""},
		"an exclude by names": {"", "match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: {any: [{resources: {kinds: [Pod], names: [x]}}]}", "exclude: goes by names"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := setOf(t, rulePolicy(c.annotations, c.match+never)).Warnings()
			if c.warning == "" && len(warnings) > 0 || c.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].At(), c.warning)) {
				t.Errorf("warnings %v", warnings)
			}
		})
	}
}

// TestExistingViolations lets an update through that changes nothing about a
// violation.
func TestExistingViolations(t *testing.T) {
	const bad = "metadata: {name: x, namespace: dev, finalizers: [a/b], labels: {app: a}}\nspec: {containers: [{name: c, image: \"nginx:latest\"}]}"
	rule := func(more string) string {
		return rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {pattern: {spec: {containers: [{image: \"!*:latest\"}]}}"+more+"}")
	}
	cases := map[string]struct {
		rule, updated string
		want          decision.Status
	}{
		"a finalizer is taken off":           {rule(""), strings.Replace(bad, "finalizers: [a/b], ", "", 1), decision.Pass},
		"another image that violates":        {rule(""), strings.Replace(bad, "nginx:latest", "apache:latest", 1), decision.Fail},
		"one more that violates":             {rule(""), strings.Replace(bad, "image: \"nginx:latest\"}", "image: \"nginx:latest\"}, {name: d, image: \"nginx:latest\"}", 1), decision.Fail},
		"the finalizer, and not let through": {rule(", allowExistingViolations: false"), strings.Replace(bad, "finalizers: [a/b], ", "", 1), decision.Fail},
		"mended":                             {rule(""), strings.Replace(bad, "nginx:latest", "nginx:1", 1), decision.Pass},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gvk, updated := object("v1", "Pod", c.updated)
			_, old := object("v1", "Pod", bad)
			r := created(t, emptyCluster(t), gvk, "pods", updated)
			r.Operation, r.OldObject = request.Update, created(t, emptyCluster(t), gvk, "pods", old).Object
			if got := only(t, setOf(t, c.rule).Decide(t.Context(), r)); got.Status != c.want {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// TestFailureActions says what a failure leads to.
func TestFailureActions(t *testing.T) {
	policy := func(spec, validate string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  " + spec + "\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {pattern: {metadata: {labels: {never: \"?*\"}}}" + validate + "}"
	}
	labelled := clusterOf(t, namespace("dev", map[string]string{"tier": "test"}))
	cases := map[string]struct {
		policy string
		state  request.Cluster
		want   decision.Action
		status decision.Status
	}{
		"not given":                        {policy("failurePolicy: Fail", ""), labelled, decision.Enforce, decision.Fail},
		"lower case":                       {policy("validationFailureAction: audit", ""), labelled, decision.ActionAudit, decision.Fail},
		"warn":                             {policy("validationFailureAction: Warn", ""), labelled, decision.ActionWarn, decision.Warn},
		"of the rule":                      {policy("validationFailureAction: Enforce", ", failureAction: Audit"), labelled, decision.ActionAudit, decision.Fail},
		"overridden by name":               {policy("validationFailureActionOverrides: [{action: Audit, namespaces: [d*]}]", ""), labelled, decision.ActionAudit, decision.Fail},
		"overridden elsewhere":             {policy("validationFailureActionOverrides: [{action: Audit, namespaces: [prod]}]", ""), labelled, decision.Enforce, decision.Fail},
		"overridden by label":              {policy("validationFailureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {tier: test}}}]", ""), labelled, decision.ActionAudit, decision.Fail},
		"overridden by another label":      {policy("validationFailureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {tier: prod}}}]", ""), labelled, decision.Enforce, decision.Fail},
		"the first that selects counts":    {policy("validationFailureActionOverrides: [{action: Warn, namespaces: [dev]}, {action: Audit, namespaces: [dev]}]", ""), labelled, decision.ActionWarn, decision.Warn},
		"labels that cannot be read":       {policy("validationFailureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {tier: test}}}]", ""), unreadable{}, decision.Enforce, decision.Error},
		"labels that cannot be read, open": {policy("failurePolicy: Ignore\n  validationFailureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {tier: test}}}]", ""), unreadable{}, decision.ActionAudit, decision.Error},
		"of the rule, overridden":          {policy("validationFailureActionOverrides: [{action: Warn, namespaces: [dev]}]", ", failureAction: Enforce, failureActionOverrides: [{action: Audit, namespaces: [dev]}]"), labelled, decision.ActionAudit, decision.Fail},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("v1", "Pod", podBody)
			got := only(t, setOf(t, c.policy).Decide(t.Context(), created(t, c.state, gvk, "pods", document)))
			if got.Action != c.want || got.Status != c.status {
				t.Errorf("%s %s: %s, want %s %s", got.Action, got.Status, got.Message, c.want, c.status)
			}
		})
	}
}
