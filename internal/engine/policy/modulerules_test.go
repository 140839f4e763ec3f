package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// TestModuleRules puts requests to rules as those of a webhook.
func TestModuleRules(t *testing.T) {
	pods := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{}")}
	with := func(change func(*asking)) asking { a := pods; change(&a); return a }
	update := with(func(a *asking) { a.operation, a.old = request.Update, a.object })
	sub := func(name, kind string) asking {
		return with(func(a *asking) {
			a.operation, a.sub, a.kind, a.object = request.Update, name, kind, labelled(kind, "{}")
			a.old = a.object
		})
	}
	exec := with(func(a *asking) { a.operation, a.sub, a.kind, a.object = request.Connect, "exec", "PodExecOptions", "" })
	gone := with(func(a *asking) { a.operation, a.old, a.object = request.Delete, a.object, "" })
	deployment := with(func(a *asking) {
		a.group, a.resource, a.kind, a.object = "apps", "deployments", "Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}`
	})
	scale := with(func(a *asking) {
		a.operation, a.group, a.resource, a.sub, a.kind, a.object = request.Update, "apps", "deployments", "scale", "Scale", `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: web, namespace: shop}}`
	})
	node := with(func(a *asking) {
		a.resource, a.kind, a.namespace, a.object = "nodes", "Node", "", `{apiVersion: v1, kind: Node, metadata: {name: web}}`
	})
	space := with(func(a *asking) {
		a.resource, a.kind, a.namespace, a.object = "namespaces", "Namespace", "web", `{apiVersion: v1, kind: Namespace, metadata: {name: web}}`
	})
	event := with(func(a *asking) {
		a.group, a.resource, a.kind, a.object = "events.k8s.io", "events", "Event", `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: web, namespace: shop}}`
	})
	ours := with(func(a *asking) {
		a.group, a.resource, a.kind, a.object = "sallyport.io", "unknowns", "Unknown", `{apiVersion: sallyport.io/v1alpha1, kind: Unknown, metadata: {name: web}}`
	})
	// group, resources, operations and the rest of a rule.
	const everything = `apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], `
	for _, tt := range []struct {
		name, rule string
		asked      asking
		want       bool
	}{
		{"what it names", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]`, pods, true},
		{"another version", `apiGroups: [""], apiVersions: [v1beta1], resources: [pods], operations: [CREATE]`, pods, true},
		{"another operation", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [UPDATE, DELETE]`, pods, false},
		{"another group", `apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]`, pods, false},
		{"a group in place of core", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: ["*"]`, deployment, false},
		{"several groups", `apiGroups: ["", apps], apiVersions: [v1], resources: [pods, deployments], operations: ["*"]`, deployment, true},
		{"deletion", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [DELETE]`, gone, true},
		{"deletion by star", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: ["*"]`, gone, true},
		{"only creation", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]`, gone, false},
		{"update", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [UPDATE]`, update, true},
		{"exec", `apiGroups: [""], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]`, exec, true},
		{"exec is not a creation", `apiGroups: [""], apiVersions: [v1], resources: [pods/exec], operations: [CREATE]`, exec, false},
		{"exec and attach", `apiGroups: [""], apiVersions: [v1], resources: [pods/attach], operations: [CONNECT]`, exec, false},
		{"all subresources", `apiGroups: [""], apiVersions: [v1], resources: [pods/*], operations: ["*"]`, exec, true},
		{"all subresources and the resource", `apiGroups: [""], apiVersions: [v1], resources: [pods/*], operations: ["*"]`, pods, true},
		{"a resource without its subresources", `apiGroups: [""], apiVersions: [v1], resources: [pods], operations: ["*"]`, sub("status", "Pod"), false},
		{"ephemeral containers", `apiGroups: [""], apiVersions: [v1], resources: [pods/ephemeralcontainers], operations: [UPDATE]`, sub("ephemeralcontainers", "Pod"), true},
		{"ephemeral containers with the rest", `apiGroups: [""], apiVersions: [v1], resources: [pods/*], operations: [UPDATE]`, sub("ephemeralcontainers", "Pod"), true},
		{"star is without subresources", everything + `resources: ["*"]`, exec, false},
		{"star", everything + `resources: ["*"]`, pods, true},
		{"star slash star", everything + `resources: ["*/*"]`, exec, true},
		{"star slash star and a resource", everything + `resources: ["*/*"]`, pods, true},
		{"star beside a subresource", everything + `resources: ["*", pods/exec]`, exec, true},
		{"exec of all", `apiGroups: [""], apiVersions: [v1], resources: ["*/exec"], operations: ["*"]`, exec, true},
		{"scale of all", everything + `resources: ["*/scale"]`, scale, true},
		{"scale of one", `apiGroups: [apps], apiVersions: [v1], resources: [deployments/scale], operations: [UPDATE]`, scale, true},
		{"scale goes by its resource's group", `apiGroups: [autoscaling], apiVersions: [v1], resources: ["*/scale"], operations: [UPDATE]`, scale, false},
		{"scale is not a deployment", everything + `resources: [deployments]`, scale, false},
		{"scale and status", everything + `resources: ["*/status"]`, scale, false},
		{"what is in a namespace", everything + `resources: ["*"], scope: Namespaced`, pods, true},
		{"what is in none", everything + `resources: ["*"], scope: Namespaced`, node, false},
		{"what is of the cluster", everything + `resources: ["*"], scope: Cluster`, node, true},
		{"what is not of the cluster", everything + `resources: ["*"], scope: Cluster`, pods, false},
		{"both", everything + `resources: ["*"], scope: "*"`, node, true},
		{"a Namespace is of the cluster", everything + `resources: [namespaces], scope: Cluster`, space, true},
		{"a Namespace is in none", everything + `resources: [namespaces], scope: Namespaced`, space, false},
		{"events by their other group", `apiGroups: [""], apiVersions: [v1], resources: [events], operations: [CREATE]`, event, true},
		{"another resource of that group", `apiGroups: ["", apps], apiVersions: [v1], resources: [pods], operations: [CREATE]`, event, false},
		{"Sallyport's own", everything + `resources: ["*/*"]`, ours, false},
		{"Sallyport's own, by name", `apiGroups: [sallyport.io], apiVersions: ["*"], resources: ["*"], operations: ["*"]`, ours, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, cap0("p", "rules: [{"+tt.rule+"}]"))
			if got := about(t, set, tt.asked.request(t, clusterOf(t))) == "p"; got != tt.want {
				t.Errorf("asked: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOneRuleIsEnough(t *testing.T) {
	set := setOf(t, cap0("p", `rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [DELETE]}, {apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}, {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]`))
	pods := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{}")}
	if got := about(t, set, pods.request(t, clusterOf(t))); got != "p" {
		t.Errorf("asked %q, want p once", got)
	}
}

// TestRulesOfTheModule says that a policy can leave it to its module what it is
// for, and is asked about all as long as that is not known.
func TestRulesOfTheModule(t *testing.T) {
	sources := sourcesOf(t, strings.Replace(cap0("p", "rules: []"), "[]", `[{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE, UPDATE]}]`, 1))
	spec := &sources.ClusterAdmissionPolicies[0].Object.Spec.AdmissionPolicySpec
	spec.Rules = modulepolicy.AllRules()
	sources.ModuleRules = map[*specOf]bool{spec: true}
	var joined Sources
	joined.add(sources)
	set, problems := Compile(joined, pods0, passes0)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	wrong := *spec
	wrong.Mode = "audit"
	sources.ClusterAdmissionPolicies[0].Object.Spec.AdmissionPolicySpec = wrong
	if _, problems := Compile(sources, pods0, passes0); len(problems) != 1 || problems[0].Path != "spec.mode" {
		t.Errorf("of a policy that is wrong: %v", problems)
	}
	state := clusterOf(t)
	pods := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{}")}
	services := asking{operation: request.Create, resource: "services", kind: "Service", namespace: "shop", object: labelled("Service", "{}")}
	rule := func(resource string) []module.Rule {
		return []module.Rule{{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}, Operations: []string{"CREATE"}, Scope: "Namespaced"}}
	}
	if got := only(t, set.Decide(t.Context(), services.request(t, state))); got.Status != decision.Error || !strings.Contains(got.Message, modulepolicy.ErrNoModules.Error()) {
		t.Errorf("where modules are not run: %+v", got)
	}
	for name, tt := range map[string]struct {
		infos          map[string]runner.Info
		pods, services bool
	}{
		"not there yet":           {nil, true, true},
		"says nothing":            {map[string]runner.Info{"p": {Digest: "a"}}, true, true},
		"pods":                    {map[string]runner.Info{"p": {Digest: "b", Rules: rule("pods")}}, true, false},
		"services, the next time": {map[string]runner.Info{"p": {Digest: "c", Rules: rule("services")}}, false, true},
		"nothing that there is":   {map[string]runner.Info{"p": {Digest: "d", Rules: rule("pod")}}, true, true},
	} {
		m := &modules{infos: tt.infos}
		running := set.Run(m)
		for _, asked := range []struct {
			asking
			want bool
		}{{pods, tt.pods}, {services, tt.services}} {
			m.asked = nil
			running.Decide(t.Context(), asked.request(t, state))
			if got := len(m.asked) == 1; got != asked.want {
				t.Errorf("%s: asked about %s: %v", name, asked.resource, got)
			}
		}
		// A policy that says itself what it is for goes by no other.
		own := setOf(t, cap0("p")).Run(m)
		for _, asked := range []asking{pods, services} {
			m.asked = nil
			own.Decide(t.Context(), asked.request(t, state))
			if got := len(m.asked) == 1; got != (asked.resource == "pods") {
				t.Errorf("%s, with rules of its own: asked about %s: %v", name, asked.resource, got)
			}
		}
		if in := running.InBackground(pods.request(t, state).Kind, pods.request(t, state).Resource); in != tt.pods {
			t.Errorf("%s: in the background %v", name, in)
		}
	}
}
