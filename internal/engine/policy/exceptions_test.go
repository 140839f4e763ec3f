package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var deploymentGVK = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

const requireLabels = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: require-labels}
spec:
  validationFailureAction: Enforce
  rules:
  - name: check-for-labels
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "label 'app.kubernetes.io/name' is required"
      pattern: {metadata: {labels: {app.kubernetes.io/name: "?*"}}}
`

const disallowLatest = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: disallow-latest-tag}
spec:
  validationFailureAction: enforce
  background: true
  rules:
  - name: validate-image-tag
    match: {resources: {kinds: [Deployment]}}
    validate:
      message: "Using a mutable image tag e.g. 'latest' is not allowed."
      pattern: {spec: {template: {spec: {containers: [{image: "!*:latest"}]}}}}
`

func deployment(namespace, name, labels string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: ` + namespace + `}
spec:
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx` + labels + `}}
    spec: {containers: [{name: nginx, image: "nginx:latest"}]}
`
}

// TestExceptions puts one resource to a policy with one exception.
func TestExceptions(t *testing.T) {
	exception := func(namespace, body string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: bypass, namespace: " + namespace + ", creationTimestamp: \"2026-11-01T00:00:00Z\"}\nspec:\n" + body
	}
	const excepted = "  exceptions: [{policyName: require-labels, ruleNames: [check-for-labels]}]\n"
	const nginx = "  match: {any: [{resources: {kinds: [Deployment], names: [nginx]}}]}\n"
	cases := map[string]struct {
		exception string
		document  string
		want      decision.Status
		message   string
	}{
		"of the base name covers the generated rule": {exception("dev", excepted+nginx), deployment("dev", "nginx", ""), decision.Skip, "excused by PolicyException dev/bypass"},
		"of the generated name":                      {exception("dev", "  exceptions: [{policyName: require-labels, ruleNames: [autogen-check-for-labels]}]\n"+nginx), deployment("dev", "nginx", ""), decision.Skip, ""},
		"of another generated name":                  {exception("dev", "  exceptions: [{policyName: require-labels, ruleNames: [autogen-cronjob-check-for-labels]}]\n"+nginx), deployment("dev", "nginx", ""), decision.Fail, ""},
		"of every rule":                              {exception("dev", "  exceptions: [{policyName: require-labels}]\n"+nginx), deployment("dev", "nginx", ""), decision.Skip, ""},
		"of a rule by pattern":                       {exception("dev", "  exceptions: [{policyName: require-labels, ruleNames: [\"*check*\"]}]\n"+nginx), deployment("dev", "nginx", ""), decision.Skip, ""},
		"of another policy":                          {exception("dev", "  exceptions: [{policyName: other, ruleNames: [check-for-labels]}]\n"+nginx), deployment("dev", "nginx", ""), decision.Fail, ""},
		"of another kind of policy":                  {exception("dev", "  exceptions: [{policyName: require-labels, policyKind: DenyPolicy}]\n"+nginx), deployment("dev", "nginx", ""), decision.Fail, ""},
		"in another namespace":                       {exception("dev", excepted+nginx), deployment("prod", "nginx", ""), decision.Fail, ""},
		"for another name":                           {exception("dev", excepted+nginx), deployment("dev", "other", ""), decision.Fail, ""},
		"what complies is a pass":                    {exception("dev", excepted+nginx), deployment("dev", "nginx", ", app.kubernetes.io/name: x"), decision.Pass, ""},
		"valid for a while yet":                      {exception("dev", excepted+nginx+"  duration: 30d\n  reason: a test"), deployment("dev", "nginx", ""), decision.Skip, "(a test; until 2026-12-01T00:00:00Z)"},
		"expired by its duration":                    {exception("dev", excepted+nginx+"  duration: 27d"), deployment("dev", "nginx", ""), decision.Fail, ""},
		"expired at this very second":                {exception("dev", excepted+nginx+"  expiresAt: \"2026-11-28T12:00:00Z\""), deployment("dev", "nginx", ""), decision.Fail, ""},
		"expires in a second":                        {exception("dev", excepted+nginx+"  expiresAt: \"2026-11-28T12:00:01Z\""), deployment("dev", "nginx", ""), decision.Skip, ""},
		"not yet valid":                              {exception("dev", excepted+nginx+"  notBefore: \"2026-11-28T12:00:01Z\""), deployment("dev", "nginx", ""), decision.Fail, ""},
		"valid from now":                             {exception("dev", excepted+nginx+"  notBefore: \"2026-11-28T12:00:00Z\""), deployment("dev", "nginx", ""), decision.Skip, ""},
		"a condition that holds":                     {exception("dev", excepted+nginx+"  conditions: [{expression: \"object.metadata.name == 'nginx'\"}]"), deployment("dev", "nginx", ""), decision.Skip, ""},
		"a condition that does not":                  {exception("dev", excepted+nginx+"  conditions: [{expression: \"object.metadata.name == 'x'\"}]"), deployment("dev", "nginx", ""), decision.Fail, ""},
		"a condition that errors":                    {exception("dev", excepted+nginx+"  conditions: [{expression: \"object.spec.missing == 'x'\"}]"), deployment("dev", "nginx", ""), decision.Fail, "does not excuse it: its conditions cannot be evaluated"},
		"pod security entries excuse no pattern":     {exception("dev", excepted+nginx+"  podSecurity: [{controlName: Host Namespaces}]"), deployment("dev", "nginx", ""), decision.Fail, ""},
		"only for creation":                          {exception("dev", excepted+"  match: {any: [{resources: {kinds: [Deployment], operations: [CREATE]}}]}"), deployment("dev", "nginx", ""), decision.Skip, ""},
		"only for updates":                           {exception("dev", excepted+"  match: {any: [{resources: {kinds: [Deployment], operations: [UPDATE]}}]}"), deployment("dev", "nginx", ""), decision.Fail, ""},
		"for a user":                                 {exception("dev", excepted+"  match: {any: [{subjects: [{kind: User, name: alice}]}]}"), deployment("dev", "nginx", ""), decision.Skip, ""},
		"for another user":                           {exception("dev", excepted+"  match: {any: [{subjects: [{kind: User, name: bob}]}]}"), deployment("dev", "nginx", ""), decision.Fail, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, requireLabels, c.exception)
			d := set.Decide(t.Context(), created(t, emptyCluster(t), deploymentGVK, "deployments", c.document))
			got := only(t, d)
			if got.Status != c.want || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s %q, want %s with %q", got.Status, got.Message, c.want, c.message)
			}
			if (got.Status == decision.Skip) != (len(got.Exceptions) == 1) {
				t.Errorf("exceptions %v", got.Exceptions)
			}
			if got.Rule != "autogen-check-for-labels" {
				t.Errorf("rule %s", got.Rule)
			}
		})
	}
}

func emptyCluster(t testing.TB) request.Cluster {
	t.Helper()
	return clusterOf(t)
}

// TestRequestsAndResponses puts a request and what was answered to the engine, as
// files hold them.
func TestRequestsAndResponses(t *testing.T) {
	ask := func(more string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionRequest
metadata: {name: allow-tag-for-test, namespace: dev}
spec:
  exceptions: [{policyName: disallow-latest-tag, ruleNames: [validate-image-tag]}]
  reason: allow-latest-tag-for-test
  exclude: {all: [{name: test, kind: [Deployment], namespace: [dev]}]}
` + more
	}
	answer := func(name, status, more string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionResponse
metadata: {name: ` + name + `}
spec: {approvalPolicy: manual, name: allow-tag-for-test, status: ` + status + `, reason: fine` + more + `}
`
	}
	cases := map[string]struct {
		documents []string
		namespace string
		want      decision.Status
	}{
		"asked for":                    {[]string{ask("")}, "dev", decision.Fail},
		"approved":                     {[]string{ask(""), answer("answer", "Approved", "")}, "dev", decision.Skip},
		"approved, elsewhere":          {[]string{ask(""), answer("answer", "Approved", "")}, "prod", decision.Fail},
		"denied":                       {[]string{ask(""), answer("answer", "Denied", "")}, "dev", decision.Fail},
		"approved and denied":          {[]string{ask(""), answer("a", "Approved", ""), answer("b", "Denied", "")}, "dev", decision.Fail},
		"approved by who asked":        {[]string{ask("  requesters: [alice]"), answer("answer", "Approved", ", approver: alice")}, "dev", decision.Fail},
		"approved by another":          {[]string{ask("  requesters: [alice]"), answer("answer", "Approved", ", approver: bob")}, "dev", decision.Skip},
		"another version was approved": {[]string{strings.Replace(ask(""), "namespace: dev}", "namespace: dev, generation: 2}", 1), answer("answer", "Approved", ", requestGeneration: 1")}, "dev", decision.Fail},
		"another one was approved":     {[]string{strings.Replace(ask(""), "namespace: dev}", "namespace: dev, uid: x}", 1), answer("answer", "Approved", ", requestUID: other")}, "dev", decision.Fail},
		"expired since":                {[]string{ask("  duration: 1d"), answer("answer", "Approved", `, approvalTime: "2026-11-27T12:00:00Z"`)}, "dev", decision.Fail},
		"not expired yet":              {[]string{ask("  duration: 1d"), answer("answer", "Approved", `, approvalTime: "2026-11-27T12:00:01Z"`)}, "dev", decision.Skip},
		"self-approval allowed": {[]string{ask("  requesters: [alice]"), answer("answer", "Approved", ", approver: alice"), `
apiVersion: sallyport.io/v1alpha1
kind: ExceptionPolicy
metadata: {name: trust}
spec: {policies: [disallow-latest-tag], allowSelfApproval: true}
`}, "dev", decision.Skip},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, append([]string{disallowLatest}, c.documents...)...)
			d := set.Decide(t.Context(), created(t, emptyCluster(t), deploymentGVK, "deployments", deployment(c.namespace, "test", "")))
			if got := only(t, d); got.Status != c.want {
				t.Errorf("%s %q, want %s", got.Status, got.Message, c.want)
			}
		})
	}
}
