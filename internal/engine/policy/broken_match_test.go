package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// refusals names what of some requests is refused.
func refusals(t *testing.T, set *Set, ask map[string]*request.Request) string {
	t.Helper()
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(ask)) {
		if d := set.Decide(t.Context(), ask[name]); d.Refuses() {
			refused = append(refused, name)
		}
	}
	return strings.Join(refused, " ")
}

// TestBrokenMatches reads what a rule that cannot work is about: never less than it may
// mean, and no more than it says where that can be read.
func TestBrokenMatches(t *testing.T) {
	state := identityCluster(t)
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	ask := map[string]*request.Request{
		"pod":        created(t, state, call.PodGVK, "pods", shopPod),
		"other":      created(t, state, call.PodGVK, "pods", otherPod),
		"settings":   created(t, state, configMap, "configmaps", configMaps),
		"deployment": created(t, state, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", shopWeb),
	}
	const (
		everything = "deployment other pod settings"
		settings   = "{resources: {kinds: [ConfigMap]}}"
		inOther    = "{resources: {kinds: [Pod], namespaces: [other]}}"
		inShop     = "{resources: {namespaces: [shop]}}"
	)
	many := strings.Repeat(settings+", ", 129)
	for _, c := range []struct{ name, match, exclude, refused string }{
		{"what is right", "{any: [" + settings + "]}", "", "settings"},
		{"what is right, with a null beside", "{any: [" + settings + "], all: null}", "", "settings"},
		{"an unknown field beside", "{any: [" + settings + "], anyOf: []}", "", everything},
		{"any and all", "{any: [" + inOther + "], all: [" + settings + "]}", "", "other settings"},
		{"any that is not a list, and the short form", "{any: 3, resources: {kinds: [ConfigMap]}}", "", everything},
		{"the short form beside any", "{any: [" + inOther + "], resources: {kinds: [ConfigMap]}}", "", "other settings"},
		{"what is not a filter beside one", "{any: [" + settings + ", 3]}", "", everything},
		{"what is not a filter where all have to hold", "{all: [" + settings + ", 3]}", "", "settings"},
		{"nothing", "{}", "", everything},
		{"null", "null", "", everything},
		{"no filter", "{any: []}", "", everything},
		{"more filters than there may be", "{any: [" + many + "]}", "", everything},
		{"more filters that have to hold than there may be", "{all: [" + many + "]}", "", everything},
		{"no filter that can be read where all have to hold", "{all: [3]}", "", everything},
		{"two forms of a name", "{any: [{resources: {kinds: [ConfigMap], name: a, names: [b]}}]}", "", "settings"},
		{"two forms of a kind", "{any: [{kind: ConfigMap, resources: {kinds: [ConfigMap], namespaces: [other]}}]}", "", "settings"},
		{"two forms of a name, and the short one of a kind", "{any: [{kind: ConfigMap, name: a, resources: {names: [b]}}]}", "", "settings"},
		{"two forms of a name, and no kind", "{any: [{resources: {name: a, names: [b]}}]}", "", everything},
		{"resources that are not a map", "{any: [{resources: 3, kind: ConfigMap}]}", "", "settings"},

		{"an exclude that is right", "{any: [" + settings + ", " + inOther + "]}", "{all: [" + settings + ", " + inShop + "]}", "other"},
		{"an exclude with an unknown field", "{any: [" + settings + "]}", "{any: [" + settings + "], anyOf: []}", "settings"},
		{"an exclude with what is not a filter", "{any: [" + settings + ", " + inOther + "]}", "{any: [" + settings + ", 3]}", "other"},
		{"an exclude of what is not a filter", "{any: [" + settings + "]}", "{any: [3]}", "settings"},
		{"an exclude that is not a map", "{any: [" + settings + "]}", "all", "settings"},
		{"an exclude of nothing", "{any: [" + settings + "]}", "{}", "settings"},
		{"an exclude of all, one of which cannot be read", "{any: [" + settings + "]}", "{all: [" + settings + ", 3]}", "settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exclude := ""
			if c.exclude != "" {
				exclude = ", exclude: " + c.exclude
			}
			store, _ := started(t, yamlOf("ClusterPolicy", "x", fmt.Sprintf("spec: {rules: [{name: r, match: %s%s, validate: {}}]}", c.match, exclude)))
			if got := refusals(t, store.Set(), ask); got != c.refused {
				t.Errorf("refused are %q, want %q", got, c.refused)
			}
		})
	}
}

// TestBrokenMeanwhile says, for the condition of an object that cannot work and for
// /readyz, what is answered until it is mended.
func TestBrokenMeanwhile(t *testing.T) {
	const (
		refused = "until it is corrected or deleted, this is refused: "
		letIn   = "until it is corrected or deleted, this is let in: "
		anyWay  = "every way into a pod (pods/exec, pods/attach, pods/portforward, pods/ephemeralcontainers, pods/proxy, services/proxy, nodes/proxy, pods/log), as its spec cannot be read"
		rule    = "rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {}}"
		module  = `module: "", rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]`
	)
	for _, c := range []struct{ name, document, says string }{
		{"a DenyPolicy without a spec", yamlOf("DenyPolicy", "x", "spec: 3"), refused + anyWay},
		{"a DenyPolicy with rules", yamlOf("DenyPolicy", "x", `spec: {precedence: first, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}, 3]}`),
			refused + "what rules[0] is about; every way into a pod, as rules[1] cannot be read"},
		{"a DenyPolicy that audits", yamlOf("DenyPolicy", "x", `spec: {enforcementAction: audit, precedence: first, rules: [3]}`), letIn + "every way into a pod, as rules[0] cannot be read"},
		{"a ClusterPolicy without a spec", yamlOf("ClusterPolicy", "x", "spec: 3"), refused + "everything that is created, changed or connected to, as its spec cannot be read"},
		{"a Policy without a spec", yamlOf("Policy", "shop/x", "spec: 3"), refused + "everything that is created, changed or connected to in namespace shop, as its spec cannot be read"},
		{"without rules", yamlOf("ClusterPolicy", "x", "spec: {}"), refused + "everything that is created, changed or connected to, as its rules cannot be read"},
		{"without rules, open", yamlOf("ClusterPolicy", "x", "spec: {failurePolicy: Ignore}"), letIn + "everything that is created, changed or connected to, as its rules cannot be read"},
		{"a rule", yamlOf("ClusterPolicy", "x", "spec: {"+rule+"]}"), refused + "what rule r is about"},
		{"a rule of a Policy", yamlOf("Policy", "shop/x", "spec: {"+rule+"]}"), refused + "what rule r is about in namespace shop"},
		{"a rule about what cannot be read", yamlOf("ClusterPolicy", "x", "spec: {rules: [3]}"), refused + "everything, as it cannot be read what rule rules[0] is about"},
		{"failurePolicy Ignore", yamlOf("ClusterPolicy", "x", "spec: {failurePolicy: Ignore, "+rule+"]}"), letIn + "what rule r is about"},
		{"the action Audit", yamlOf("ClusterPolicy", "x", "spec: {validationFailureAction: Audit, "+rule+"]}"), letIn + "what rule r is about"},
		{"the action Audit, and Enforce in a namespace", yamlOf("ClusterPolicy", "x", "spec: {validationFailureAction: Audit, validationFailureActionOverrides: [{action: Enforce, namespaces: [shop]}], "+rule+"]}"), refused + "what rule r is about"},
		{"one rule of two that refuses", yamlOf("ClusterPolicy", "x", "spec: {validationFailureAction: Audit, "+rule+", {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {failureAction: Enforce}}]}"), refused + "what rule r is about; what rule s is about"},
		{"a module without a spec", yamlOf("ClusterAdmissionPolicy", "x", "spec: 3"), refused + "every request at the front door, as its spec cannot be read"},
		{"a module", yamlOf("ClusterAdmissionPolicy", "x", "spec: {"+module+"}"), refused + "what its rules are about"},
		{"a module of a namespace", yamlOf("AdmissionPolicy", "shop/x", "spec: {"+module+"}"), refused + "what its rules are about in namespace shop"},
		{"a module in mode monitor", yamlOf("ClusterAdmissionPolicy", "x", "spec: {mode: monitor, "+module+"}"), letIn + "what its rules are about"},
		{"a module whose rule is not one", yamlOf("ClusterAdmissionPolicy", "x", "spec: {module: '', rules: [all]}"), refused + "every request at the front door, as its rules cannot be read"},
		{"a module whose rule is partly one", yamlOf("ClusterAdmissionPolicy", "x", "spec: {module: '', rules: [{operations: [CREATE]}]}"), refused + "what its rules are about"},
		{"an IdentitySource", yamlOf("IdentitySource", "x", "spec: {key: kerberos, reviewForm: Later, podAnnotation: {}}"), refused + "whatever makes, changes or enters a pod that carries an identity by its podAnnotation"},
		{"an IdentitySource of two ways", yamlOf("IdentitySource", "x", "spec: {key: kerberos, podAnnotation: {}, csiVolume: {}}"), refused + "whatever makes, changes or enters a pod, as it cannot be read where an identity of it stands"},
		{"a PolicyServer that runs nothing", yamlOf("PolicyServer", "x", "spec: {image: ''}"), "it does nothing until it is corrected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := started(t, c.document)
			broken := store.Set().Broken()
			if len(broken) != 1 || broken[0].Meanwhile() != c.says {
				t.Errorf("it says %v, want %q", broken, c.says)
			}
			for _, b := range broken {
				if b.Meanwhile() != c.says {
					t.Errorf("it says %q, want %q", b.Meanwhile(), c.says)
				}
			}
		})
	}
}
