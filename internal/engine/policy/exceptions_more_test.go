package policy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const baseline = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: baseline}
spec:
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: baseline}}
`

const riskyPod = `
apiVersion: v1
kind: Pod
metadata: {name: risky, namespace: dev, labels: {app: risky}}
spec:
  hostNetwork: true
  containers:
  - {name: a, image: "tools/a:1", securityContext: {privileged: true}}
  - {name: b, image: "tools/b:1", securityContext: {privileged: true}}
`

// TestPartialExceptions excuses parts of what a pod violates.
func TestPartialExceptions(t *testing.T) {
	exception := func(name, entries string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: ` + name + `, namespace: dev}
spec:
  exceptions: [{policyName: baseline, ruleNames: [baseline]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
  podSecurity: [` + entries + `]
`
	}
	const host = "{controlName: Host Namespaces}"
	cases := map[string]struct {
		exceptions []string
		want       decision.Status
		paths      []string
		used       int
	}{
		"nothing": {nil, decision.Fail, []string{"spec.containers[0].securityContext.privileged", "spec.containers[1].securityContext.privileged", "spec.hostNetwork"}, 0},
		"the host network": {[]string{exception("a", host)}, decision.Fail,
			[]string{"spec.containers[0].securityContext.privileged", "spec.containers[1].securityContext.privileged"}, 1},
		"one image": {[]string{exception("a", `{controlName: Privileged Containers, images: ["tools/a:*"]}`)}, decision.Fail,
			[]string{"spec.containers[1].securityContext.privileged", "spec.hostNetwork"}, 1},
		"everything in one":           {[]string{exception("a", host+`, {controlName: Privileged Containers, images: ["tools/*"]}`)}, decision.Skip, nil, 1},
		"everything in three":         {[]string{exception("a", host), exception("b", `{controlName: Privileged Containers, images: ["tools/a:1"]}`), exception("c", `{controlName: Privileged Containers, images: ["tools/b:1"]}`)}, decision.Skip, nil, 3},
		"two that say the same":       {[]string{exception("a", host), exception("b", host)}, decision.Fail, []string{"spec.containers[0].securityContext.privileged", "spec.containers[1].securityContext.privileged"}, 1},
		"another control's name":      {[]string{exception("a", "{controlName: Sysctls}")}, decision.Fail, []string{"spec.containers[0].securityContext.privileged", "spec.containers[1].securityContext.privileged", "spec.hostNetwork"}, 0},
		"an image that is not a glob": {[]string{exception("a", `{controlName: Privileged Containers, images: ["tools"]}`)}, decision.Fail, []string{"spec.containers[0].securityContext.privileged", "spec.containers[1].securityContext.privileged", "spec.hostNetwork"}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, append([]string{baseline}, c.exceptions...)...)
			got := only(t, set.Decide(t.Context(), created(t, emptyCluster(t), call.PodGVK, "pods", riskyPod)))
			if got.Status != c.want || len(got.Exceptions) != c.used {
				t.Errorf("%s by %v: %s", got.Status, got.Exceptions, got.Message)
			}
			var paths []string
			for _, f := range got.Findings {
				paths = append(paths, f.Path)
			}
			for _, p := range c.paths {
				if !strings.Contains(strings.Join(paths, " "), p) {
					t.Errorf("findings %v leave out %s", paths, p)
				}
			}
			if len(paths) != len(c.paths) {
				t.Errorf("findings %v, want %v", paths, c.paths)
			}
		})
	}
}

// TestAccessExceptions excuses getting into a pod.
func TestAccessExceptions(t *testing.T) {
	const deny = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: no-privileged}
spec:
  podSecurityRules: {blockFactors: [privilegedContainer]}
`
	exception := func(match string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: night-shift, namespace: dev}
spec:
  exceptions: [{policyName: no-privileged}]
  reason: on call
  match: {any: [{` + match + `}]}
`
	}
	cases := map[string]struct {
		match string
		point string
		want  decision.Status
	}{
		"exec by name":               {"resources: {kinds: [Pod/exec], names: [risky]}", "exec", decision.Skip},
		"exec by the pod":            {"resources: {kinds: [Pod], names: [risky]}", "exec", decision.Skip},
		"exec into another":          {"resources: {kinds: [Pod/exec], names: [other]}", "exec", decision.Fail},
		"exec does not cover attach": {"resources: {kinds: [Pod/exec]}", "attach", decision.Fail},
		"every way in":               {"resources: {kinds: [\"Pod/*\"]}", "attach", decision.Skip},
		"by the pod's labels":        {"resources: {kinds: [Pod/exec], selector: {matchLabels: {app: risky}}}", "exec", decision.Skip},
		"by other labels":            {"resources: {kinds: [Pod/exec], selector: {matchLabels: {app: x}}}", "exec", decision.Fail},
		"for one user":               {"resources: {kinds: [Pod/exec]}, subjects: [{kind: User, name: alice}]", "exec", decision.Skip},
		"for another user":           {"resources: {kinds: [Pod/exec]}, subjects: [{kind: User, name: bob}]", "exec", decision.Fail},
		"on connecting":              {"resources: {kinds: [Pod/exec], operations: [CONNECT]}", "exec", decision.Skip},
		"on creation":                {"resources: {kinds: [Pod/exec], operations: [CREATE]}", "exec", decision.Fail},
		"a Deployment":               {"resources: {kinds: [Deployment]}", "exec", decision.Fail},
	}
	state := clusterWith(t, riskyPod)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, deny, exception(c.match))
			r := access1(state, c.point, "dev", "risky")
			if got := only(t, set.Decide(t.Context(), r)); got.Status != c.want {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

func clusterWith(t testing.TB, document string) request.Cluster {
	t.Helper()
	p := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(document), p); err != nil {
		t.Fatal(err)
	}
	return clusterOf(t, p)
}

// TestExceptionsThatCannotWork are refused, with the path of what is wrong.
func TestExceptionsThatCannotWork(t *testing.T) {
	cases := map[string]struct{ kind, namespace, spec, path string }{
		"an empty match":                     {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {}", "spec.match"},
		"an empty filter":                    {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {any: [{}]}", "spec.match.any[0]"},
		"any policy":                         {"PolicyException", "dev", "exceptions: [{policyName: \"*\"}]\n  match: {resources: {kinds: [Pod]}}", "spec.exceptions[0].policyName"},
		"a pattern of policies":              {"ClusterPolicyException", "", "exceptions: [{policyName: \"a*\"}]\n  match: {resources: {kinds: [Pod]}}", "spec.exceptions[0].policyName"},
		"no policy":                          {"PolicyException", "dev", "exceptions: []\n  match: {resources: {kinds: [Pod]}}", "spec.exceptions"},
		"an empty list of rules":             {"PolicyException", "dev", "exceptions: [{policyName: p, ruleNames: []}]\n  match: {resources: {kinds: [Pod]}}", "spec.exceptions[0].ruleNames"},
		"another namespace":                  {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod], namespaces: [prod]}}", "spec.match.resources.namespaces[0]"},
		"a pattern of namespaces":            {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod], namespaces: [\"d*\"]}}", "spec.match.resources.namespaces[0]"},
		"a kind without namespace":           {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Namespace]}}", "spec.match.resources.kinds[0]"},
		"a malformed duration":               {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  duration: soon", "spec.duration"},
		"no time at all":                     {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  duration: 0d", "spec.duration"},
		"both kinds of end":                  {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  duration: 1d\n  expiresAt: \"2030-01-01T00:00:00Z\"", "spec.duration"},
		"an end before the start":            {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  notBefore: \"2031-01-01T00:00:00Z\"\n  expiresAt: \"2030-01-01T00:00:00Z\"", "spec.notBefore"},
		"an unknown kind of policy":          {"PolicyException", "dev", "exceptions: [{policyName: p, policyKind: Rule}]\n  match: {resources: {kinds: [Pod]}}", "spec.exceptions[0].policyKind"},
		"an unknown control":                 {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  podSecurity: [{controlName: Nothing}]", "spec.podSecurity[0].controlName"},
		"a broken condition":                 {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  conditions: [{expression: \"1 +\"}]", "spec.conditions[0].expression"},
		"an empty duration":                  {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  duration: \"\"", "spec.duration"},
		"an empty list of controls":          {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  podSecurity: []", "spec.podSecurity"},
		"controls, in a request":             {"PolicyExceptionRequest", "dev", "exceptions: [{policyName: p}]\n  exclude: {resources: {kinds: [Pod]}}\n  podSecurity: []", "spec.podSecurity"},
		"a duration, in an entry":            {"PolicyExceptionRequest", "dev", "exceptions: [{policyName: p, duration: \"\"}]\n  exclude: {resources: {kinds: [Pod]}}", "spec.exceptions[0].duration"},
		"a duration, in an entry beside one": {"PolicyExceptionRequest", "dev", "duration: 1d\n  exceptions: [{policyName: p, duration: \"\"}]\n  exclude: {resources: {kinds: [Pod]}}", "spec.exceptions[0].duration"},
		"an empty longest time":              {"ExceptionPolicy", "", "policies: [p]\n  maxDuration: \"\"", "spec.maxDuration"},
		"every namespace":                    {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod], namespaces: [\"*\"]}}", "spec.match.resources.namespaces[0]"},
		"a Namespace, asked for":             {"PolicyExceptionRequest", "dev", "exceptions: [{policyName: p}]\n  exclude: {resources: {kinds: [Namespace], names: [prod]}}", "spec.exclude.resources.kinds[0]"},
		"an unknown field":                   {"PolicyException", "dev", "exceptions: [{policyName: p}]\n  match: {resources: {kinds: [Pod]}}\n  until: tomorrow", "spec.until"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			document := "apiVersion: sallyport.io/v1alpha1\nkind: " + c.kind + "\nmetadata: {name: x"
			if c.namespace != "" {
				document += ", namespace: " + c.namespace
			}
			var sources Sources
			problems := addYAML(t, &sources, document+"}\nspec:\n  "+c.spec+"\n")
			if len(problems) == 0 {
				_, problems = Compile(sources, pod.Default(), exception.Options{Began: judgedAt})
			}
			if len(problems) == 0 || problems[0].Path != c.path {
				t.Errorf("problems %v, want one at %s", problems, c.path)
			}
		})
	}
}
