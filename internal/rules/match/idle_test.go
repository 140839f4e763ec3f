package match

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestIdle finds what no request can match, and nothing else.
func TestIdle(t *testing.T) {
	for match, want := range map[string][]string{
		"resources: {kinds: [Pod/exec], operations: [CREATE]}":                                                                                                                                              {"m.resources.kinds[0]: matches no request with operations [CREATE]: about Pod/exec the API server asks with CONNECT; write operations: [CONNECT]"},
		"resources: {kinds: [Pod/exec], operations: [CREATE, CONNECT]}":                                                                                                                                     nil,
		"resources: {kinds: [Pod/exec]}":                                                                                                                                                                    nil,
		"any: [{resources: {kinds: [Pod, Pod/attach], operations: [CREATE, UPDATE]}}]":                                                                                                                      {"m.any[0].resources.kinds[1]: matches no request with operations [CREATE, UPDATE]: about Pod/attach"},
		"resources: {kinds: [Service/proxy, Node/proxy, Pod/portforward], operations: [UPDATE]}":                                                                                                            {"kinds[0]: ", "kinds[1]: ", "kinds[2]: "},
		"resources: {kinds: [Pod], operations: [CONNECT]}":                                                                                                                                                  {"m.resources.kinds[0]: matches no request: what is connected to is a subresource, such as Pod/exec, and Pod is none"},
		"resources: {kinds: [\"*\"], operations: [CONNECT]}":                                                                                                                                                {"m.resources.kinds[0]: matches no request"},
		"resources: {kinds: [\"*/*\", Pod/*], operations: [CONNECT]}":                                                                                                                                       nil,
		"resources: {kinds: [Pod], operations: [DELETE]}":                                                                                                                                                   {"m.resources.operations: matches no request: rules are not asked about DELETE; to keep"},
		"resources: {kinds: [Pod], operations: [CREATE, DELETE]}":                                                                                                                                           {"m.resources.operations: rules are not asked about DELETE; to keep"},
		"resources: {kinds: [Pod/ephemeralcontainers, Pod/resize, Deployment/status, Widget/scale], operations: [CREATE]}":                                                                                  {"kinds[0]: ", "kinds[1]: ", "kinds[2]: ", "kinds[3]: matches no request with operations [CREATE]: about Widget/scale the API server asks with UPDATE"},
		"resources: {kinds: [Pod/eviction, ServiceAccount/token, TokenReview], operations: [UPDATE]}":                                                                                                       {"kinds[0]: ", "kinds[1]: ", "kinds[2]: "},
		"resources: {kinds: [Widget/console], operations: [CREATE]}":                                                                                                                                        nil,
		"resources: {kinds: [Pods, Deploymnet, Pods/exec, NameSpace, ConfigMaps, NetworkPolicies]}":                                                                                                         {"kinds[0]: matches nothing of Kubernetes, which has no kind Pods; write Pod, or give the group too", "write Deployment,", "write Pod,", "write Namespace,", "write ConfigMap,", "write NetworkPolicy,"},
		"resources: {kinds: [Rule, Widget, \"Pods*\", example.com/v1/Pods, example.com/v1/Deploymnet, \"*.com/v1/Pods\", Application, Role]}":                                                               nil,
		"resources: {kinds: [apps/v1/Deploymnet, apps/v1/Widget, core/v1/Widget]}":                                                                                                                          {"write Deployment,", "the group \"apps\" has no kind Widget; it has ControllerRevision, DaemonSet, Deployment", "the group \"core\" has no kind Widget"},
		"resources: {kinds: [Pod/log]}":                                                                                                                                                                     {"m.resources.kinds[0]: matches no request: reading Pod/log is not an operation of admission; write a DenyPolicy about it"},
		"all: [{resources: {kinds: [Pod/exec]}}, {resources: {operations: [CREATE]}}]":                                                                                                                      {"m.all[0].resources.kinds[0]: matches no request with operations [CREATE]"},
		"all: [{resources: {kinds: [Pod], operations: [UPDATE]}}, {resources: {operations: [CREATE]}}]":                                                                                                     {"m.all: matches no request: no operation is in all of the lists"},
		"all: [{resources: {kinds: [Pod, Secret]}}, {resources: {operations: [CREATE]}}, {resources: {kinds: [Service]}}]":                                                                                  {"m.all: matches no request: [0] and [2] have no kinds in common ([Pod, Secret], and [Service]), and all have to hold; write any"},
		"all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod/exec]}}]":                                                                                                                              {"no kinds in common"},
		"all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod/status]}}]":                                                                                                                            nil,
		"all: [{resources: {kinds: [Pod]}}, {resources: {kinds: ['*/*']}}]":                                                                                                                                 nil,
		"all: [{resources: {kinds: [apps/v1/Deployment]}}, {resources: {kinds: [apps/v1beta1/Deployment]}}]":                                                                                                {"no kinds in common"},
		"all: [{resources: {kinds: [apps/v1/Deployment]}}, {resources: {kinds: [Deployment]}}]":                                                                                                             nil,
		"all: [{resources: {kinds: ['Dae*']}}, {resources: {kinds: ['*Set']}}]":                                                                                                                             nil,
		"all: [{resources: {kinds: [Pod], names: ['a*']}}, {resources: {kinds: [Pod], names: ['b*']}}]":                                                                                                     {"no names in common ([a*], and [b*])"},
		"all: [{resources: {kinds: [Pod], names: ['a*']}}, {resources: {kinds: [Pod], names: ['*b']}}]":                                                                                                     nil,
		"all: [{resources: {kinds: [Pod], namespaces: [a, b]}}, {resources: {kinds: [Pod], namespaces: [c]}}]":                                                                                              {"no namespaces in common"},
		"all: [{resources: {kinds: [Pod], namespaces: [a, b]}}, {resources: {kinds: [Pod], namespaces: ['?']}}]":                                                                                            nil,
		"all: [{resources: {kinds: [Node, ClusterRole]}}, {resources: {namespaces: [c]}}]":                                                                                                                  {"no namespaces in common ([Node, ClusterRole], which are in none, and one that is asked for)"},
		"all: [{resources: {namespaceSelector: {matchLabels: {a: b}}}}, {resources: {kinds: [Node]}}]":                                                                                                      {"no namespaces in common ([Node], which are in none"},
		"all: [{resources: {kinds: [Node, Pod]}}, {resources: {namespaces: [c]}}]":                                                                                                                          nil,
		"all: [{resources: {kinds: [Namespace]}}, {resources: {namespaces: [c]}}]":                                                                                                                          nil,
		"all: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: bob}]}, {subjects: [{kind: User, name: ann}]}]":                                                                                    {"no subjects in common ([bob], and [ann])"},
		"all: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: bob}]}, {subjects: [{kind: Group, name: ann}]}]":                                                                                   nil,
		"all: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: bob}]}, {clusterRoles: [edit]}]":                                                                                                   nil,
		"all: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}, {resources: {selector: {matchLabels: {a: c}}}}]":                                                                               {"no labels in common (one value of a, and another)"},
		"all: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}, {resources: {selector: {matchLabels: {a: '?'}}}}]":                                                                             nil,
		"all: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}, {resources: {namespaceSelector: {matchLabels: {a: c}}}}]":                                                                      nil,
		"all: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}}, {resources: {selector: {matchLabels: {a: b}}}}]":                                        {"no labels in common"},
		"all: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}}}, {resources: {selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}}]":       {"no labels in common"},
		"all: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}}}, {resources: {selector: {matchExpressions: [{key: a, operator: In, values: [c, d]}]}}}]": nil,
		"all: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}}}, {resources: {selector: {matchExpressions: [{key: b, operator: DoesNotExist}]}}}]":       nil,
		"all: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}}}, {resources: {namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}}]":                      {"no labels of namespaces in common"},
		"all: [{resources: {kinds: [Pod], annotations: {a: b}}}, {resources: {annotations: {a: c}}}]":                                                                                                       {"no annotations in common"},
		"all: [{resources: {kinds: [Pod], annotations: {a: b}}}, {resources: {annotations: {'*': c}}}]":                                                                                                     nil,
		"any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]":                                                                                                                               nil,
	} {
		t.Run(match, func(t *testing.T) {
			var source v1alpha1.Match
			if err := yaml.UnmarshalStrict([]byte(match), &source); err != nil {
				t.Fatal(err)
			}
			compiled, errs := Compile(&source, field.NewPath("m"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			var got []string
			compiled.Idle(field.NewPath("m"), true, func(at *field.Path, detail string) { got = append(got, at.String()+": "+detail) })
			if len(got) != len(want) {
				t.Fatalf("%q, want %q", got, want)
			}
			for i := range got {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("%s, want %s", got[i], want[i])
				}
			}
			compiled.Idle(field.NewPath("m"), false, func(_ *field.Path, detail string) {
				if strings.Contains(detail, "DELETE;") {
					t.Errorf("an exclude: %s", detail)
				}
			})
		})
	}
}

// TestNeverAsked does the same for rules of webhooks.
func TestNeverAsked(t *testing.T) {
	for _, c := range []struct {
		groups, resource, operations string
		never                        bool
	}{
		{"", "pods/exec", "CREATE", true},
		{"", "pods/exec", "CREATE CONNECT", false},
		{"", "pods/exec", "*", false},
		{"", "pods", "CONNECT", true},
		{"", "pods", "DELETE", false},
		{"*", "pods/resize", "CREATE", true},
		{"*", "*", "CONNECT", true},
		{"*", "*/*", "CONNECT", false},
		{"", "pods/*", "CONNECT", false},
		{"", "pods/log", "*", true},
		{"apps", "deployments/scale", "CREATE", true},
		{"example.com", "widgets/console", "CREATE", false},
		{"example.com", "pods/exec", "CREATE", false},
	} {
		if detail := NeverAsked([]string{c.groups}, c.resource, strings.Fields(c.operations)); (detail != "") != c.never {
			t.Errorf("%+v: %q", c, detail)
		}
	}
}
