package pattern_test

import "testing"

func TestIfPresent(t *testing.T) {
	run(t, []table{
		{"a scalar", `{spec: {=(hostNetwork): false}}`, []check{
			{"right", `{spec: {hostNetwork: false}}`, pass},
			{"wrong", `{spec: {hostNetwork: true}}`, fail(at("spec.hostNetwork", true))},
			{"missing", `{spec: {}}`, pass},
			{"null is there", `{spec: {hostNetwork: null}}`, fail(at("spec.hostNetwork", nil))},
			{"the map around it is missing", `{}`, fail(missing("spec"))},
		}},
		{"a map", `{spec: {=(securityContext): {runAsNonRoot: true}}}`, []check{
			{"right", `{spec: {securityContext: {runAsNonRoot: true}}}`, pass},
			{"wrong", `{spec: {securityContext: {runAsNonRoot: false}}}`, fail(at("spec.securityContext.runAsNonRoot", false))},
			{"missing in it", `{spec: {securityContext: {}}}`, fail(missing("spec.securityContext.runAsNonRoot"))},
			{"missing", `{spec: {}}`, pass},
			{"of another type", `{spec: {securityContext: []}}`, fail(at("spec.securityContext", []any{}))},
		}},
		{"nested", `{spec: {=(a): {=(b): {=(c): x}}}}`, []check{
			{"nothing", `{spec: {}}`, pass},
			{"one level", `{spec: {a: {}}}`, pass},
			{"two levels", `{spec: {a: {b: {}}}}`, pass},
			{"right", `{spec: {a: {b: {c: x}}}}`, pass},
			{"wrong", `{spec: {a: {b: {c: u}}}}`, fail(at("spec.a.b.c", "u"))},
		}},
		{"a list", `{spec: {=(initContainers): [{image: "corp/*"}]}}`, []check{
			{"missing", `{spec: {}}`, pass},
			{"empty", `{spec: {initContainers: []}}`, pass},
			{"right", `{spec: {initContainers: [{image: corp/a}]}}`, pass},
			{"wrong", `{spec: {initContainers: [{image: corp/a}, {image: a}]}}`, fail(at("spec.initContainers[1].image", "a"))},
			{"no list", `{spec: {initContainers: {image: corp/a}}}`, fail(somewhere("spec.initContainers"))},
		}},
		{"a condition below it", `{c: [{=(securityContext): {(privileged): true, runAsUser: ">0"}}]}`, []check{
			{"met and wrong", `{c: [{}, {securityContext: {privileged: true, runAsUser: 0}}]}`,
				fail(at("c[1].securityContext.runAsUser", int64(0)))},
			{"met and right", `{c: [{securityContext: {privileged: true, runAsUser: 1}}]}`, pass},
			{"unmet", `{c: [{securityContext: {privileged: false, runAsUser: 0}}]}`, skip("privileged")},
			{"not there", `{c: [{}]}`, pass},
		}},
		{"a comparison", `{=(x): ">5"}`, []check{
			{"missing", `{}`, pass},
			{"right", `{x: 6}`, pass},
			{"wrong", `{x: 5}`, fail(at("x", int64(5)))},
		}},
	})
}

func TestAbsent(t *testing.T) {
	run(t, []table{
		{"in the items of a list", `{spec: {=(volumes): [{X(hostPath): "null"}]}}`, []check{
			{"absent", `{spec: {volumes: [{emptyDir: {}}, {name: x}]}}`, pass},
			{"there", `{spec: {volumes: [{emptyDir: {}}, {hostPath: {path: /}}]}}`,
				fail(at("spec.volumes[1].hostPath", map[string]any{"path": "/"}))},
			{"there and null", `{spec: {volumes: [{hostPath: null}]}}`, fail(at("spec.volumes[0].hostPath", nil))},
			{"there and empty", `{spec: {volumes: [{hostPath: {}}]}}`, fail(at("spec.volumes[0].hostPath", map[string]any{}))},
			{"no volumes", `{spec: {}}`, pass},
		}},
		{"its value in the pattern is nothing", `{X(a): "null", X(b): {c: d}, X(e): "yes | no", X(f): true}`, []check{
			{"all absent", `{x: 1}`, pass},
			{"there with null in the pattern", `{a: 0}`, fail(at("a", int64(0)))},
			{"there with a map in the pattern", `{b: {c: d}}`, fail(somewhere("b"))},
			{"there with a string in the pattern", `{e: "yes"}`, fail(at("e", "yes"))},
			{"there with a bool in the pattern", `{f: false}`, fail(at("f", false))},
			{"two there", `{a: "", e: x}`, fail(at("a", ""), at("e", "x"))},
		}},
		{"beside others", `{spec: {X(hostPID): "null", name: "?*"}}`, []check{
			{"right", `{spec: {name: a}}`, pass},
			{"both wrong", `{spec: {hostPID: true, name: ""}}`, fail(at("spec.hostPID", true), at("spec.name", ""))},
			{"the map around it is missing", `{}`, fail(missing("spec"))},
		}},
		{"after a condition", `{spec: {(hostNetwork): true, X(hostPID): "null"}}`, []check{
			{"met and absent", `{spec: {hostNetwork: true}}`, pass},
			{"met and there", `{spec: {hostNetwork: true, hostPID: false}}`, fail(at("spec.hostPID", false))},
			{"unmet and there", `{spec: {hostNetwork: false, hostPID: true}}`, skip("spec.hostNetwork")},
		}},
	})
}

func TestExistence(t *testing.T) {
	run(t, []table{
		{"one map", `{spec: {^(containers): [{image: "proxy:*", ready: true}]}}`, []check{
			{"the only item", `{spec: {containers: [{image: "proxy:1", ready: true}]}}`, pass},
			{"the last item", `{spec: {containers: [{image: "a:1"}, {image: "proxy:1", ready: true}]}}`, pass},
			{"the first item", `{spec: {containers: [{image: "proxy:1", ready: true}, text, null]}}`, pass},
			{"two items", `{spec: {containers: [{image: "proxy:1", ready: true}, {image: "proxy:2", ready: true}]}}`, pass},
			{"none", `{spec: {containers: [{image: "a:1", ready: true}]}}`, fail(somewhere("spec.containers"))},
			{"half in one, half in another", `{spec: {containers: [{image: "proxy:1"}, {ready: true}]}}`, fail(somewhere("spec.containers"))},
			{"an empty list", `{spec: {containers: []}}`, fail(at("spec.containers", []any{}))},
			{"missing", `{spec: {}}`, pass},
			{"a map", `{spec: {containers: {image: "proxy:1", ready: true}}}`, fail(somewhere("spec.containers"))},
			{"a string", `{spec: {containers: proxy}}`, fail(at("spec.containers", "proxy"))},
			{"null", `{spec: {containers: null}}`, fail(at("spec.containers", nil))},
			{"items that are not maps", `{spec: {containers: [proxy, 1]}}`, fail(somewhere("spec.containers"))},
			{"the map around it is missing", `{}`, fail(missing("spec"))},
		}},
		{"several maps", `{^(c): [{name: a}, {port: ">1024"}]}`, []check{
			{"an item for each", `{c: [{name: a}, {port: 8080}]}`, pass},
			{"in another order", `{c: [{port: 8080}, {name: b}, {name: a}]}`, pass},
			{"one item for both", `{c: [{name: a, port: 8080}]}`, pass},
			{"only the first", `{c: [{name: a, port: 80}]}`, fail(somewhere("c"))},
			{"only the second", `{c: [{name: b, port: 8080}]}`, fail(somewhere("c"))},
			{"missing", `{}`, pass},
		}},
		{"in the items of a list", `{c: [{^(ports): [{port: 80}]}]}`, []check{
			{"each has one", `{c: [{ports: [{port: 80}, {port: 1}]}, {ports: [{port: 80}]}, {}]}`, pass},
			{"one has none", `{c: [{ports: [{port: 80}]}, {ports: [{port: 81}]}]}`, fail(somewhere("c[1].ports"))},
		}},
		{"beside others", `{spec: {^(c): [{name: a}], x: "1"}}`, []check{
			{"right", `{spec: {c: [{name: a}], x: 1}}`, pass},
			{"both wrong", `{spec: {c: [{name: b}], x: 2}}`, fail(somewhere("spec.c"), at("spec.x", int64(2)))},
		}},
		{"a condition in it", `{^(c): [{(name): proxy, port: 80}]}`, []check{
			{"met and right", `{c: [{name: web, port: 1}, {name: proxy, port: 80}]}`, pass},
			{"met and wrong", `{c: [{name: web, port: 80}, {name: proxy, port: 1}]}`, fail(somewhere("c"))},
			{"an item that is not judged is not a match", `{c: [{name: web, port: 80}]}`, fail(somewhere("c"))},
		}},
		{"a global anchor in it", `{^(c): [{<(image): "corp/*", port: 80}]}`, []check{
			{"met and right", `{c: [{image: corp/a, port: 80}]}`, pass},
			{"met and wrong", `{c: [{image: corp/a, port: 81}]}`, fail(somewhere("c"))},
			{"unmet", `{c: [{image: a, port: 81}]}`, fail(somewhere("c"))},
			{"unmet in one of two", `{c: [{image: corp/a, port: 80}, {image: a}]}`, pass},
		}},
		{"an item without a key", `{^(c): [{X(bad): "null"}]}`, []check{
			{"one is clean", `{c: [{bad: 1}, {good: 1}]}`, pass},
			{"none is clean", `{c: [{bad: 1}, {bad: 2}]}`, fail(somewhere("c"))},
		}},
	})
}

func TestAnyPattern(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		cases    []check
	}{
		{"two plain patterns", []string{`{a: x}`, `{b: u}`}, []check{
			{"both hold", `{a: x, b: u}`, pass},
			{"the first holds", `{a: x, b: z}`, pass},
			{"the second holds", `{a: z, b: u}`, pass},
			{"neither holds", `{a: z}`, fail(at("a", "z"), missing("b"))},
		}},
		{"two with conditions", []string{`{(k): one, a: x}`, `{(k): two, a: u}`}, []check{
			{"the first applies and holds", `{k: one, a: x}`, pass},
			{"the second applies and holds", `{k: two, a: u}`, pass},
			{"one fails and the other is skipped", `{k: one, a: u}`, fail(at("a", "u"))},
			{"both are skipped", `{k: three, a: z}`, skip("k")},
		}},
		{"a global one beside another", []string{`{<(k): one, a: x}`, `{b: u}`}, []check{
			{"skipped and passed", `{k: two, a: z, b: u}`, pass},
			{"skipped and failed", `{k: two, a: x, b: z}`, fail(at("b", "z"))},
		}},
		{"one pattern", []string{`{a: x}`}, []check{
			{"holds", `{a: x}`, pass},
			{"fails", `{a: u}`, fail(at("a", "u"))},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compileAny(t, tt.patterns...)
			for _, c := range tt.cases {
				t.Run(c.name, func(t *testing.T) {
					judge(t, p.Match(decode(t, c.resource)), c.want)
				})
			}
		})
	}
}
