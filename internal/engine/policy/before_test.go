package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestBroughtIntoRules judges what an update brings into a rule, or takes out of
// an exception, as if it were created: the old object violated nothing.
func TestBroughtIntoRules(t *testing.T) {
	const (
		latest   = "\n    validate: {pattern: {spec: {template: {spec: {containers: [{image: \"!*:latest\"}]}}}}}"
		aboutPod = "\n    validate: {pattern: {spec: {containers: [{image: \"!*:latest\"}]}}}"
		baseline = "\n    validate: {podSecurity: {level: baseline}}"
	)
	body := func(labels string) string {
		return "metadata: {name: web, namespace: dev, finalizers: [a/b], labels: {" + labels + "}}\nspec: {template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: c, image: \"a:latest\"}]}}}"
	}
	rule := func(match, validate string) string {
		return rulePolicy("sallyport.io/autogen-controllers: all", match+validate)
	}
	except := func(more string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec:\n  exceptions: [{policyName: p}]\n  match: {any: [{resources: {kinds: [Deployment]" + more
	}
	const (
		deployments = "match: {any: [{resources: {kinds: [Deployment]}}]}"
		notDev      = deployments + "\n    exclude: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {env: dev}}}}]}"
		prod        = "match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {env: prod}}}}]}"
		pods        = "match: {any: [{resources: {kinds: [Pod]}}]}"
		notDevPods  = pods + "\n    exclude: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {env: dev}}}}]}"
	)
	byLabel := ", selector: {matchLabels: {env: dev}}}}]}"
	byCondition := "}}]}\n  conditions: [{name: dev, expression: \"object.metadata.labels.env == 'dev'\"}]"
	byControl := byLabel + "\n  podSecurity: [{controlName: Host Namespaces}]"
	cases := map[string]struct {
		documents []string
		old, now  string
		want      decision.Status
	}{
		"out of an exclude":                       {[]string{rule(notDev, latest)}, "env: dev", "env: x", decision.Fail},
		"into a match":                            {[]string{rule(prod, latest)}, "env: dev", "env: prod", decision.Fail},
		"out of an exclude, generated":            {[]string{rule(notDevPods, aboutPod)}, "env: dev", "env: x", decision.Fail},
		"into another form":                       {[]string{rule("match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Deployment], selector: {matchLabels: {env: prod}}}}]}", never)}, "env: dev", "env: prod", decision.Fail},
		"in it before and after":                  {[]string{rule(prod, latest)}, "env: prod", "env: prod, c: d", decision.Pass},
		"generated, before and after":             {[]string{rule(pods, aboutPod)}, "env: x", "env: z", decision.Pass},
		"out of an exception":                     {[]string{rule(deployments, latest), except(byLabel)}, "env: dev", "env: x", decision.Fail},
		"out of an exception with a condition":    {[]string{rule(deployments, latest), except(byCondition)}, "env: dev", "env: x", decision.Fail},
		"in an exception before and after":        {[]string{rule(deployments, latest), except(byLabel)}, "env: dev", "env: dev, c: d", decision.Pass},
		"in no exception before and after":        {[]string{rule(deployments, latest), except(byLabel)}, "env: x", "env: z", decision.Pass},
		"a standard: out of an exclude":           {[]string{rule(notDevPods, baseline)}, "env: dev", "env: x", decision.Fail},
		"a standard: out of an exception":         {[]string{rule(pods, baseline), except(byLabel)}, "env: dev", "env: x", decision.Fail},
		"a standard: out of an excuse in part":    {[]string{rule(pods, baseline), except(byControl)}, "env: dev", "env: x", decision.Fail},
		"a standard: nothing relevant, as before": {[]string{rule(pods, baseline), except(byControl)}, "env: dev", "env: dev, c: d", ""},
		"a standard: no exception":                {[]string{rule(pods, baseline)}, "env: dev", "env: x", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gvk, document := object("apps/v1", "Deployment", body(c.now))
			_, before := object("apps/v1", "Deployment", body(c.old))
			set := setOf(t, c.documents...)
			r := created(t, emptyCluster(t), gvk, "deployments", document)
			r.Operation, r.OldObject = request.Update, created(t, emptyCluster(t), gvk, "deployments", before).Object
			d := set.Decide(t.Context(), r)
			if c.want == "" {
				if len(d.Results) > 0 {
					t.Errorf("results %+v, want none", d.Results)
				}
				return
			}
			if got := only(t, d); got.Status != c.want {
				t.Errorf("%s (%s), want %s", got.Status, got.Message, c.want)
			}
		})
	}
}

// TestHeldBeforeByNamespace goes by the labels of the namespace that an object is in,
// and of a Namespace by its own, as they were.
func TestHeldBeforeByNamespace(t *testing.T) {
	state := clusterOf(t, namespace("dev", map[string]string{"env": "prod"}))
	rule := func(kinds string) string {
		return rulePolicy("", "match: {any: [{resources: {kinds: ["+kinds+"], namespaceSelector: {matchLabels: {env: prod}}}}]}"+never)
	}
	conditional := "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}, conditions: [{name: c, expression: \"namespaceObject.metadata.name == 'dev'\"}]}"
	for name, c := range map[string]struct {
		apiVersion, kind, old, now string
		state                      request.Cluster
		documents                  []string
		want                       decision.Status
	}{
		"a pod of it":                                              {"v1", "Pod", podBody, podBody, state, []string{rule("Pod")}, decision.Pass},
		"a Namespace of another group, in it":                      {"example.com/v1", "Namespace", podBody, podBody, state, []string{rule("example.com/v1/Namespace")}, decision.Pass},
		"a Namespace that was in it":                               {"v1", "Namespace", "metadata: {name: dev, labels: {env: prod}}", "metadata: {name: dev, labels: {env: prod, a: b}}", state, []string{rule("Namespace")}, decision.Pass},
		"a Namespace that comes into it":                           {"v1", "Namespace", "metadata: {name: dev}", "metadata: {name: dev, labels: {env: prod}}", state, []string{rule("Namespace")}, decision.Fail},
		"an exception of which it is not known whether it applies": {"v1", "Pod", podBody, podBody, unreadable{}, []string{rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never), conditional}, decision.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			gvk, document := object(c.apiVersion, c.kind, c.now)
			_, before := object(c.apiVersion, c.kind, c.old)
			r := created(t, c.state, gvk, "things", document)
			r.Operation, r.OldObject = request.Update, created(t, c.state, gvk, "things", before).Object
			if r.Namespace == "" {
				r.Namespace = "dev"
			}
			if got := only(t, setOf(t, c.documents...).Decide(t.Context(), r)); got.Status != c.want {
				t.Errorf("%s (%s), want %s", got.Status, got.Message, c.want)
			}
		})
	}
}

// TestGeneratedKnowTheNamespace gives a rule about Pods what a template does not
// hold: the namespace and the kind of the Pod that it makes.
func TestGeneratedKnowTheNamespace(t *testing.T) {
	const pods = "match: {any: [{resources: {kinds: [Pod]}}]}"
	for name, c := range map[string]struct {
		validate string
		want     decision.Status
	}{
		"a pattern":            {"\n    validate: {pattern: {metadata: {namespace: dev}}}", decision.Pass},
		"a pattern, another":   {"\n    validate: {pattern: {metadata: {namespace: prod}}}", decision.Fail},
		"the kind":             {"\n    validate: {pattern: {kind: Pod, apiVersion: v1}}", decision.Pass},
		"any pattern":          {"\n    validate: {anyPattern: [{metadata: {namespace: dev}}]}", decision.Pass},
		"an expression":        {"\n    validate: {cel: {expressions: [{expression: \"object.metadata.namespace == 'dev' && object.kind == 'Pod'\"}]}}", decision.Pass},
		"an expression, other": {"\n    validate: {cel: {expressions: [{expression: \"object.metadata.namespace == 'prod'\"}]}}", decision.Fail},
	} {
		for kind, body := range map[string]string{"Deployment": templateBody, "StatefulSet": strings.Replace(templateBody, "metadata: {labels: {app: a}}, ", "", 1)} {
			t.Run(name+", "+kind, func(t *testing.T) {
				gvk, document := object("apps/v1", kind, body)
				if got := only(t, setOf(t, rulePolicy("", pods+c.validate)).Decide(t.Context(), created(t, emptyCluster(t), gvk, "things", document))); got.Status != c.want {
					t.Errorf("%s (%s), want %s", got.Status, got.Message, c.want)
				}
			})
		}
	}
}
