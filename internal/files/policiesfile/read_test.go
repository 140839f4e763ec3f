package policiesfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/policiesfile"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// document is the example of the document "Context Aware Policies".
const document = `
namespace-validate:
  url: file:///tmp/namespace-validate-policy.wasm
  allowedToMutate: false
  contextAware:
  # - group: <group>
  #   version: <version>
  #   resource: <resource>
  - version: v1
    resource: pods
  - group: apps
    version: v1
    resource: deployments
  - group: networking.k8s.io
    version: v1
    resource: ingresses
  settings:
    valid_namespace: valid
`

// kubewarden is a file as Kubewarden's controller writes it.
const kubewarden = `
clusterwide-psp-apparmor:
  module: registry://ghcr.io/kubewarden/policies/psp-apparmor:v0.1.7
  policyMode: monitor
  allowedToMutate: true
  settings:
    allowed_profiles: [runtime/default]
  contextAwareResources:
  - {apiVersion: apps/v1, kind: Deployment}
  message: no
  timeoutEvalSeconds: 7
plain:
  module: https://example.com/plain.wasm
  settings: null
`

// own is a file as Sallyport writes it for its servers.
const own = `
clusterwide-hosts:
  url: registry://example.com/hosts:v1
  rules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], resources: [ingresses], operations: [CREATE]}]
  namespaceSelector: {matchLabels: {env: prod}}
  objectSelector: {matchLabels: {app: web}}
  matchConditions: [{name: all, expression: "true"}]
  failurePolicy: Ignore
  timeoutSeconds: 3
  backgroundAudit: false
  capabilities: [can_i]
  contextAware: [{group: networking.k8s.io, version: v1, resource: ingresses, namespaces: [shop], names: [a], labelSelector: {matchLabels: {a: b}}, fields: ["spec.rules.host"]}]
namespaced-team-a-p:
  url: registry://example.com/p:v1
  namespace: team-a
  message: ask the team
`

func read(t *testing.T, text string) policy.Sources {
	t.Helper()
	sources, problems := policiesfile.Read("policies.yml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return sources
}

func TestRead(t *testing.T) {
	sources := read(t, document)
	spec := &sources.ClusterAdmissionPolicies[0].Object.Spec
	if got := sources.ClusterAdmissionPolicies[0].Object.Name; got != "namespace-validate" || spec.Module != "file:///tmp/namespace-validate-policy.wasm" || string(spec.Settings.Raw) != `{"valid_namespace":"valid"}` {
		t.Errorf("%s: %+v", got, spec)
	}
	want := []v1alpha1.ContextGrant{{Version: "v1", Resource: "pods"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}}
	if diff := cmp.Diff(want, spec.ContextAware); diff != "" {
		t.Error(diff)
	}
	if !sources.ModuleRules[&spec.AdmissionPolicySpec] || len(spec.Rules) != 1 {
		t.Error("its rules are not those of its module")
	}

	sources = read(t, strings.Replace(kubewarden, "message: no", "message: 'no'", 1))
	if first, second := sources.ClusterAdmissionPolicies[0].Object.Name, sources.ClusterAdmissionPolicies[1].Object.Name; first != "psp-apparmor" || second != "plain" {
		t.Errorf("named %s and %s", first, second)
	}
	spec = &sources.ClusterAdmissionPolicies[0].Object.Spec
	if spec.Mode != v1alpha1.ModeMonitor || !spec.Mutating || spec.Message != "no" || *spec.TimeoutSeconds != 7 || len(spec.ContextAware) != 1 || spec.ContextAware[0].Kind != "Deployment" {
		t.Errorf("%+v", spec)
	}

	sources = read(t, own)
	spec = &sources.ClusterAdmissionPolicies[0].Object.Spec
	if sources.ModuleRules[&spec.AdmissionPolicySpec] || len(spec.Rules) != 1 || spec.NamespaceSelector == nil || spec.ObjectSelector == nil || len(spec.MatchConditions) != 1 ||
		spec.FailurePolicy != v1alpha1.FailurePolicyIgnore || *spec.TimeoutSeconds != 3 || *spec.BackgroundAudit || len(spec.Capabilities) != 1 || len(spec.ContextAware[0].Fields) != 1 || spec.ContextAware[0].Namespaces[0] != "shop" {
		t.Errorf("%+v", spec)
	}
	if p := sources.AdmissionPolicies[0].Object; p.Name != "p" || p.Namespace != "team-a" || !sources.ModuleRules[&p.Spec] {
		t.Errorf("%+v", p)
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 || len(set.ModulePolicies()) != 2 {
		t.Error(problems)
	}
	for _, nothing := range []string{"", "# nothing\n", "---\n", "null\n", "{}"} {
		if s := read(t, nothing); len(s.ClusterAdmissionPolicies) > 0 {
			t.Errorf("%q has policies", nothing)
		}
	}
}

// TestReadProblems has each way in which a file can be wrong, with the field that is
// said to be.
func TestReadProblems(t *testing.T) {
	const url = "url: https://example.com/p.wasm"
	entry := func(lines ...string) string { return "p:\n  " + strings.Join(append(lines, url), "\n  ") + "\n" }
	for name, tt := range map[string]struct{ text, path, want string }{
		"no YAML":                     {"a: [", "", "not YAML"},
		"a list":                      {"- a", "", ""},
		"text":                        {"hello", "", ""},
		"two documents":               {document + "---\n" + document, "", "several YAML documents"},
		"an id twice":                 {document + document, "namespace-validate", "stands more than once"},
		"ids that mean the same":      {"p: {" + url + "}\nclusterwide-p: {" + url + "}", "p", "there twice"},
		"a field twice":               {entry(url), "p.url", "stands more than once"},
		"an empty id":                 {`"": {` + url + `}`, "", "is not an id"},
		"no name in the id":           {"clusterwide-: {" + url + "}", "clusterwide-", "is not an id"},
		"an id with a slash":          {"a/b: {" + url + "}", "a/b", "a slash"},
		"a long id":                   {strings.Repeat("a", 300) + ": {" + url + "}", strings.Repeat("a", 300), "longer than"},
		"nothing":                     {"p:", "p", "is empty"},
		"no map":                      {"p: 7", "p", ""},
		"no module":                   {"p: {settings: {}}", "p.url", "is missing"},
		"module and url":              {entry("module: https://example.com/q.wasm"), "p.module", "stands beside url"},
		"an unknown field":            {entry("policymode: monitor"), "p.policymode", "policyMode"},
		"an unknown field in it":      {entry("contextAware: [{version: v1, resources: pods}]"), "p.contextAware[0].resources", "resource"},
		"an address that is none":     {"p: {url: 'file://p.wasm'}", "p.url", "slash"},
		"a module that is none":       {"p: {module: 'ftp://p'}", "p.module", "ftp"},
		"a mode":                      {entry("policyMode: audit"), "p.policyMode", "protect"},
		"a mode in capitals":          {entry("policyMode: Monitor"), "p.policyMode", "protect"},
		"a boolean":                   {entry("message: no"), "p.message", "quotes"},
		"mutation that is not a bool": {entry("allowedToMutate: 'yes'"), "p.allowedToMutate", "true or false"},
		"settings":                    {entry("settings: [a]"), "p.settings", "is not a map"},
		"a time":                      {entry("timeoutEvalSeconds: 60"), "p.timeoutEvalSeconds", "between 1 and 30"},
		"two times":                   {entry("timeoutEvalSeconds: 6", "timeoutSeconds: 6"), "p.timeoutEvalSeconds", "give one of both"},
		"a grant":                     {entry("contextAware: [{version: v1, resource: '*'}]"), "p.contextAware[0].resource", "names no single one"},
		"a grant by kind":             {entry("contextAware: [{version: v1, resource: pods}]", "contextAwareResources: [{apiVersion: v1, kind: Pod}, {apiVersion: v1, kind: '*'}]"), "p.contextAwareResources[1].kind", "names no single one"},
		"a grant without a kind":      {entry("contextAwareResources: [{apiVersion: v1}]"), "p.contextAwareResources[0]", "an apiVersion and a kind"},
		"a narrow grant by kind":      {entry("contextAwareResources: [{apiVersion: v1, kind: Pod, namespaces: [a]}]"), "p.contextAwareResources[0].namespaces", "unknown field"},
		"no rules":                    {entry("rules: []"), "p.rules", "about no request"},
		"a rule":                      {entry(`rules: [{apiGroups: [""], apiVersions: [v1], resources: [pod], operations: [CREATE]}]`), "p.rules[0].resources[0]", "pods"},
		"a selector":                  {entry("objectSelector: {matchExpressions: [{key: a, operator: Like}]}"), "p.objectSelector", "Like"},
		"a condition":                 {entry("matchConditions: [{name: a, expression: '1'}]"), "p.matchConditions[0].expression", "bool"},
		"a fail policy":               {entry("failurePolicy: ignore"), "p.failurePolicy", "Ignore"},
		"a capability":                {entry("capabilities: [all]"), "p.capabilities[0]", "can_i"},
		"a group":                     {"p: {policies: {a: {module: x}}, expression: a(), message: m}", "p.policies", "a group of policies"},
		"a group without policies":    {entry("expression: 'true'"), "p.policies", "a group of policies"},
		"which namespace":             {"namespaced-a-b-p: {" + url + "}", "namespaced-a-b-p.namespace", "does not say which one"},
		"another namespace":           {"namespaced-a-b-p: {namespace: c, " + url + "}", "namespaced-a-b-p.namespace", "does not name"},
		"only a namespace":            {"namespaced-a: {namespace: a, " + url + "}", "namespaced-a.namespace", "does not name"},
		"a namespace of the cluster":  {"clusterwide-p: {namespace: a, " + url + "}", "clusterwide-p.namespace", "whole cluster"},
		"context in a namespace":      {"namespaced-a-p: {contextAware: [], " + url + "}", "namespaced-a-p.contextAware", "reads nothing of the cluster"},
		"context by kind there":       {"namespaced-a-p: {contextAwareResources: [{apiVersion: v1, kind: Secret}], " + url + "}", "namespaced-a-p.contextAwareResources", "reads nothing of the cluster"},
		"context by the field":        {entry("namespace: a", "contextAware: [{version: v1, resource: secrets}]"), "p.contextAware", "reads nothing of the cluster"},
		"capabilities there":          {entry("namespace: a", "capabilities: [can_i]"), "p.capabilities", "beyond its request"},
		"other namespaces there":      {entry("namespace: a", "namespaceSelector: {}"), "p.namespaceSelector", "only about that namespace"},
		"the server's files there":    {"p: {namespace: a, url: 'file:///p.wasm'}", "p.url", "file of the server"},
		"the server itself there":     {"p: {namespace: a, url: 'https://127.0.0.1/p.wasm'}", "p.url", "machine of the server"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := policiesfile.Read("policies.yml", []byte(tt.text))
			for _, p := range problems {
				if p.Origin == "policies.yml" && (p.Path == tt.path || tt.path == "a/b" || len(tt.path) > 253) && strings.Contains(p.Error(), tt.want) {
					return
				}
			}
			t.Errorf("got %v, want one at %s about %q", problems, tt.path, tt.want)
		})
	}
}

// TestReadAllProblems says that a file is told of all that is wrong with it at once.
func TestReadAllProblems(t *testing.T) {
	_, problems := policiesfile.Read("policies.yml", []byte("a: {url: x, mode: y}\nb: {}\nc: {url: 'https://example.com/c', policyMode: z, timeoutSeconds: 90}\n"))
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	if got := strings.Join(paths, " "); got != "a.mode b.url c.policyMode c.timeoutSeconds" {
		t.Errorf("problems at %s: %v", got, problems)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{document, kubewarden, own, "a: {policies: {}}", "namespaced-a-b: {url: a/b:c, namespace: a}", "a: &a {url: a/b:c}\nb: *a", `{"a":{"url":"file:///a"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sources, problems := policiesfile.Read("p", []byte(text))
		for _, p := range problems {
			if !strings.HasPrefix(p.Origin, "p") || p.Detail == "" {
				t.Errorf("a problem without words or origin: %+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if _, problems := policy.Compile(sources, pod.Default(), exception.Options{}); len(problems) > 0 {
			t.Errorf("taken, and cannot work: %v", problems)
		}
		for _, p := range sources.AdmissionPolicies {
			if p.Object.Namespace == "" || strings.HasPrefix(p.Object.Spec.Module, "file:") {
				t.Errorf("%+v", p.Object)
			}
		}
	})
}

// TestExampleFile reads a file from where it would be.
func TestExampleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sources, _ := policiesfile.Read(path, data); sources.ClusterAdmissionPolicies[0].Origin != path+", policy namespace-validate" {
		t.Errorf("from %q", sources.ClusterAdmissionPolicies[0].Origin)
	}
}
