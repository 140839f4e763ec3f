package pattern_test

import "testing"

func TestLabels(t *testing.T) {
	const name = "metadata.labels[app.kubernetes.io/name]"
	run(t, []table{
		{"a label with a slash", `{metadata: {labels: {app.kubernetes.io/name: "?*"}}}`, []check{
			{"there", `{metadata: {labels: {app.kubernetes.io/name: web}}}`, pass},
			{"among others", `{metadata: {labels: {app.kubernetes.io/name: web, a/b: c}}}`, pass},
			{"empty", `{metadata: {labels: {app.kubernetes.io/name: ""}}}`, fail(at(name, ""))},
			{"null", `{metadata: {labels: {app.kubernetes.io/name: null}}}`, fail(at(name, nil))},
			{"missing", `{metadata: {labels: {app: web}}}`, fail(missing(name))},
			{"in another case", `{metadata: {labels: {App.kubernetes.io/name: web}}}`, fail(missing(name))},
			{"no labels", `{metadata: {name: web}}`, fail(missing("metadata.labels"))},
			{"labels are null", `{metadata: {labels: null}}`, fail(at("metadata.labels", nil))},
			{"labels are empty", `{metadata: {labels: {}}}`, fail(missing(name))},
			{"no metadata", `{kind: Pod}`, fail(missing("metadata"))},
		}},
		{"a label without dots", `{metadata: {labels: {team: "a* | b*"}}}`, []check{
			{"right", `{metadata: {labels: {team: blue}}}`, pass},
			{"wrong", `{metadata: {labels: {team: red}}}`, fail(at("metadata.labels.team", "red"))},
		}},
		{"a key with a wildcard means every key that matches", `{metadata: {labels: {"corp.io/*": "?*"}}}`, []check{
			{"one", `{metadata: {labels: {corp.io/a: x}}}`, pass},
			{"two", `{metadata: {labels: {corp.io/a: x, corp.io/b: u}}}`, pass},
			{"others are not asked", `{metadata: {labels: {corp.io/a: x, other.io/b: ""}}}`, pass},
			{"one of two is wrong", `{metadata: {labels: {corp.io/a: x, corp.io/b: ""}}}`,
				fail(at("metadata.labels[corp.io/b]", ""))},
			{"two of two are wrong", `{metadata: {labels: {corp.io/a: "", corp.io/b: ""}}}`,
				fail(at("metadata.labels[corp.io/a]", ""), at("metadata.labels[corp.io/b]", ""))},
			{"none", `{metadata: {labels: {app: x}}}`, fail(missing("metadata.labels[corp.io/*]"))},
			{"no labels at all", `{metadata: {}}`, fail(missing("metadata.labels"))},
			{"the key only ends so", `{metadata: {labels: {x.corp.io/a: x}}}`, fail(missing("metadata.labels[corp.io/*]"))},
			{"case counts in keys", `{metadata: {labels: {Corp.io/a: x}}}`, fail(missing("metadata.labels[corp.io/*]"))},
			{"the run may be empty", `{metadata: {labels: {corp.io/: x}}}`, pass},
		}},
		{"a question mark in a key is one character", `{metadata: {annotations: {"corp.io/team-?": "a*"}}}`, []check{
			{"one", `{metadata: {annotations: {corp.io/team-1: ab}}}`, pass},
			{"a wrong value", `{metadata: {annotations: {corp.io/team-1: b}}}`,
				fail(at("metadata.annotations[corp.io/team-1]", "b"))},
			{"two characters", `{metadata: {annotations: {corp.io/team-12: ab}}}`,
				fail(missing("metadata.annotations[corp.io/team-?]"))},
			{"no character", `{metadata: {annotations: {corp.io/team-: ab}}}`,
				fail(missing("metadata.annotations[corp.io/team-?]"))},
			{"the labels are not looked at", `{metadata: {labels: {corp.io/team-1: ab}}}`, fail(missing("metadata.annotations"))},
		}},
		{"any label at all", `{metadata: {labels: {"*": "*"}}}`, []check{
			{"one", `{metadata: {labels: {a: b}}}`, pass},
			{"an empty one", `{metadata: {labels: {a.b/c: ""}}}`, pass},
			{"a null one", `{metadata: {labels: {a.b/c: null}}}`, fail(at("metadata.labels[a.b/c]", nil))},
		}},
		{"a literal key beside a wildcard", `{metadata: {labels: {"corp.io/*": "?*", corp.io/env: "prod | dev"}}}`, []check{
			{"both hold", `{metadata: {labels: {corp.io/env: prod, corp.io/a: b}}}`, pass},
			{"the literal one does not", `{metadata: {labels: {corp.io/env: test, corp.io/a: b}}}`,
				fail(at("metadata.labels[corp.io/env]", "test"))},
			{"the literal one is missing", `{metadata: {labels: {corp.io/a: b}}}`,
				fail(missing("metadata.labels[corp.io/env]"))},
			{"the wildcard one does not", `{metadata: {labels: {corp.io/env: prod, corp.io/a: ""}}}`,
				fail(at("metadata.labels[corp.io/a]", ""))},
		}},
		{"a template's annotations", `{spec: {template: {metadata: {annotations: {"corp.io/*": "!none"}}}}}`, []check{
			{"right", `{spec: {template: {metadata: {annotations: {corp.io/a: b}}}}}`, pass},
			{"wrong", `{spec: {template: {metadata: {annotations: {corp.io/a: none}}}}}`,
				fail(at("spec.template.metadata.annotations[corp.io/a]", "none"))},
			{"the workload's own do not count", `{metadata: {annotations: {corp.io/a: b}}, spec: {template: {metadata: {}}}}`,
				fail(missing("spec.template.metadata.annotations"))},
		}},
		{"below anchored maps", `{=(metadata): {=(labels): {"corp.io/*": "a*"}}}`, []check{
			{"right", `{metadata: {labels: {corp.io/a: ab}}}`, pass},
			{"wrong", `{metadata: {labels: {corp.io/a: b}}}`, fail(at("metadata.labels[corp.io/a]", "b"))},
			{"no label matches", `{metadata: {labels: {a: b}}}`, fail(missing("metadata.labels[corp.io/*]"))},
			{"no labels", `{metadata: {}}`, pass},
			{"no metadata", `{spec: {}}`, pass},
		}},
	})
}

func TestWildcardKeysWithAnchors(t *testing.T) {
	run(t, []table{
		{"if present", `{metadata: {labels: {=(corp.io/*): "a*"}}}`, []check{
			{"none", `{metadata: {labels: {a: b}}}`, pass},
			{"right", `{metadata: {labels: {corp.io/x: ab}}}`, pass},
			{"one of two is wrong", `{metadata: {labels: {corp.io/x: ab, corp.io/u: b}}}`,
				fail(at("metadata.labels[corp.io/u]", "b"))},
		}},
		{"absent", `{metadata: {annotations: {"X(container.apparmor.security.beta.kubernetes.io/*)": "null"}}}`, []check{
			{"none", `{metadata: {annotations: {a: b}}}`, pass},
			{"one", `{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/web: unconfined}}}`,
				fail(at("metadata.annotations[container.apparmor.security.beta.kubernetes.io/web]", "unconfined"))},
		}},
		{"condition", `{metadata: {labels: {(corp.io/*): "a*", team: "?*"}}}`, []check{
			{"met and right", `{metadata: {labels: {corp.io/x: ab, team: blue}}}`, pass},
			{"met and wrong", `{metadata: {labels: {corp.io/x: ab, team: ""}}}`, fail(at("metadata.labels.team", ""))},
			{"no key matches", `{metadata: {labels: {team: ""}}}`, skip("")},
			{"the value does not match", `{metadata: {labels: {corp.io/x: b, team: ""}}}`, skip("")},
		}},
		{"global", `{metadata: {labels: {<(corp.io/*): "a*"}}, spec: {x: u}}`, []check{
			{"met and right", `{metadata: {labels: {corp.io/x: ab}}, spec: {x: u}}`, pass},
			{"met and wrong", `{metadata: {labels: {corp.io/x: ab}}, spec: {x: z}}`, fail(at("spec.x", "z"))},
			{"not met", `{metadata: {labels: {corp.io/x: b}}, spec: {x: z}}`, skip("")},
			{"no key matches and right", `{metadata: {labels: {}}, spec: {x: u}}`, pass},
			{"no key matches and wrong", `{metadata: {labels: {}}, spec: {x: z}}`, fail(at("spec.x", "z"))},
		}},
	})
}
