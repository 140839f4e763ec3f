package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
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
	volcanoBody  = "metadata: {name: x, namespace: dev}\nspec: {jobTemplate: {spec: {tasks: [{template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: nginx}]}}}]}}}"
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
		"a Pod":                             {"", pods, "v1", "Pod", podBody, "r", "metadata.labels.never"},
		"a Deployment":                      {"", pods, "apps/v1", "Deployment", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a ReplicaSet":                      {"", pods, "apps/v1", "ReplicaSet", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a Job":                             {"", pods, "batch/v1", "Job", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a CronJob":                         {"", pods, "batch/v1", "CronJob", cronBody, "autogen-cronjob-r", "spec.jobTemplate.spec.template.metadata.labels.never"},
		"a ReplicationController":           {"", pods, "v1", "ReplicationController", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a CronJob of another group":        {"", pods, "batch.volcano.sh/v1alpha1", "CronJob", volcanoBody, "autogen-r", ""},
		"another namespace, and an exclude": {"", "match: {any: [{resources: {kinds: [Pod], namespaces: [prod]}}]}\n    exclude: {any: [{resources: {namespaces: [test]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"a custom kind":                     {"", pods, "argoproj.io/v1alpha1", "Rollout", templateBody, "autogen-r", "spec.template.metadata.labels.never"},
		"a ConfigMap":                       {"", pods, "v1", "ConfigMap", "metadata: {name: x, namespace: dev}", "", ""},
		"none":                              {"sallyport.io/autogen-controllers: none", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"none, for a Pod":                   {"sallyport.io/autogen-controllers: none", pods, "v1", "Pod", podBody, "r", ""},
		"a list that names it":              {"sallyport.io/autogen-controllers: \"Deployment,CronJob\"", pods, "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"a list that does not":              {"sallyport.io/autogen-controllers: \"CronJob\"", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"the older annotation":              {"pod-policies.kyverno.io/autogen-controllers: none", pods, "apps/v1", "Deployment", templateBody, "", ""},
		"by a selector: none":               {"", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {own: label}}}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"by a selector, told to":            {"sallyport.io/autogen-controllers: Deployment", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {own: label}}}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"by names: none":                    {"", "match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"mixed kinds: none":                 {"", "match: {any: [{resources: {kinds: [Pod, StatefulSet]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"mixed kinds, the other":            {"", "match: {any: [{resources: {kinds: [Pod, Deployment]}}]}", "apps/v1", "Deployment", templateBody, "r", "metadata.labels.never"},
		"its own subresource":               {"", "match: {any: [{resources: {kinds: [Pod, Pod/ephemeralcontainers]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"a pattern: none":                   {"", "match: {any: [{resources: {kinds: [\"Po?\"]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"a pattern, told to":                {"sallyport.io/autogen-controllers: all", "match: {any: [{resources: {kinds: [\"Po?\"]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"the short form":                    {"", "match: {resources: {kinds: [Pod]}}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"its own kind is excluded":          {"", pods + "\n    exclude: {any: [{resources: {kinds: [Deployment]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"its namespace is excluded":         {"", pods + "\n    exclude: {any: [{resources: {namespaces: [dev]}}]}", "apps/v1", "Deployment", templateBody, "", ""},
		"another is excluded":               {"", pods + "\n    exclude: {any: [{resources: {namespaces: [prod]}}]}", "apps/v1", "Deployment", templateBody, "autogen-r", ""},
		"who asks is excluded":              {"", pods + "\n    exclude: {any: [{subjects: [{kind: User, name: alice}]}]}", "v1", "Pod", podBody, "", ""},
		"somebody else is":                  {"", pods + "\n    exclude: {any: [{subjects: [{kind: User, name: bob}]}]}", "v1", "Pod", podBody, "r", ""},
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
			if c.path != "" && (len(got.Findings) != 1 || got.Findings[0].Path != c.path || got.Findings[0].Value != "") {
				t.Errorf("findings %+v, want one at %s", got.Findings, c.path)
			}
		})
	}
}

// TestOrderOfRules has the results of rules in the order of their policies, each once,
// however a rule comes to be about a kind.
func TestOrderOfRules(t *testing.T) {
	var documents, want []string
	for i, kinds := range []string{"Pod", "Deployment", "'Dep*'", "Pod, Deployment", "Pod", "'*'", "Deployment"} {
		name := string(rune('a' + i))
		documents = append(documents, strings.Replace(rulePolicy("sallyport.io/autogen-controllers: all", "match: {any: [{resources: {kinds: ["+kinds+"]}}]}"+never), "name: p,", "name: "+name+",", 1))
		want = append(want, name)
	}
	gvk, document := object("apps/v1", "Deployment", templateBody)
	var got []string
	for _, r := range setOf(t, documents...).Decide(t.Context(), created(t, emptyCluster(t), gvk, "deployments", document)).Results {
		got = append(got, r.Policy)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("results of %v, want %v", got, want)
	}
}

// TestRulesAboutPodsPassOver what has no template that is made or changed.
func TestRulesAboutPodsPassOver(t *testing.T) {
	set := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never))
	gvk, document := object("apps/v1", "Deployment", templateBody)
	r := created(t, emptyCluster(t), gvk, "deployments", document)
	if d := set.Decide(t.Context(), r); len(d.Results) != 1 {
		t.Fatalf("%+v", d.Results)
	}
	r.Operation, r.OldObject, r.Subresource = request.Update, r.Object, "status"
	if d := set.Decide(t.Context(), r); len(d.Results) > 0 {
		t.Errorf("the status of a Deployment: %+v", d.Results)
	}
	r = running(t)
	r.Kind, r.Resource.Resource, r.Subresource = schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", "proxy"
	if d := set.Decide(t.Context(), r); len(d.Results) > 0 {
		t.Errorf("a way into a Service: %+v", d.Results)
	}
}

// TestRulesAboutWhatOthersSpare judge what a rule names, though a rule that cannot work
// leaves it out, and go by no user where none is known.
func TestRulesAboutWhatOthersSpare(t *testing.T) {
	gvk, document := object("sallyport.io/v1alpha1", "PolicyServer", "metadata: {name: x}\nspec: {image: a}")
	set := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [\"sallyport.io/*/PolicyServer\"]}}]}"+never))
	if d := set.Decide(t.Context(), created(t, emptyCluster(t), gvk, "policyservers", document)); !d.Refuses() {
		t.Errorf("an object of Sallyport: %+v", d.Results)
	}
	byUser := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: alice}]}]}"+never))
	gvk, document = object("v1", "Pod", podBody)
	r := created(t, emptyCluster(t), gvk, "pods", document)
	if d := byUser.Decide(t.Context(), r); !d.Refuses() {
		t.Errorf("of alice: %+v", d.Results)
	}
	r.User, r.Background = request.User{}, true
	if got := only(t, byUser.Decide(t.Context(), r)); got.Status != decision.Skip || !strings.Contains(got.Message, "it goes by who asks") {
		t.Errorf("of no one: %s %s", got.Status, got.Message)
	}
}

// TestRulesThatGoByWhatCannotBeRead refuse, whatever the block that cannot be asked is.
func TestRulesThatGoByWhatCannotBeRead(t *testing.T) {
	const byLabel = "{any: [{resources: {kinds: [%], namespaceSelector: {matchLabels: {env: prod}}}}]}"
	for name, c := range map[string]struct{ apiVersion, kind, body, rule string }{
		"a match":                  {"v1", "Pod", podBody, "match: " + strings.Replace(byLabel, "%", "Pod", 1)},
		"a match of a template":    {"apps/v1", "Deployment", templateBody, "match: " + strings.Replace(byLabel, "%", "Pod", 1)},
		"an exclude":               {"v1", "Pod", podBody, "match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: " + strings.Replace(byLabel, "%", "Pod", 1)},
		"an exclude of a template": {"apps/v1", "Deployment", templateBody, "match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: " + strings.Replace(byLabel, "%", "Deployment", 1)},
	} {
		gvk, document := object(c.apiVersion, c.kind, c.body)
		d := setOf(t, rulePolicy("sallyport.io/autogen-controllers: all", c.rule+never)).Decide(t.Context(), created(t, unreadable{}, gvk, "things", document))
		if got := only(t, d); got.Status != decision.Error || !d.Refuses() || !strings.Contains(got.Message, "whether the rule is about this") {
			t.Errorf("%s: %s %s", name, got.Status, got.Message)
		}
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
		"only a way in":       {"", "match: {any: [{resources: {kinds: [Pod/exec]}}]}", ""},
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
			set := setOf(t, c.rule)
			got := only(t, set.Decide(t.Context(), r))
			if got.Status != c.want {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
			if c.want == decision.Fail && (len(got.Findings) == 0 || !strings.HasSuffix(got.Findings[0].Value, ":latest")) {
				t.Errorf("it does not show what it found: %+v", got.Findings)
			}
			r.OldObject = nil
			for _, got := range set.Decide(t.Context(), r).Results {
				if got.Kind == stored.KindClusterPolicy && got.Status == decision.Pass && name != "mended" {
					t.Errorf("what it was before is not known, and it is let be: %s", got.Message)
				}
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
