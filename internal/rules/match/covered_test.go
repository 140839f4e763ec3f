package match

import "testing"

// TestCovered asks how much of what a block is about an exclude block takes out.
func TestCovered(t *testing.T) {
	const pods, role = "resources: {kinds: [Pod]}", "resources: {kinds: [ClusterRole]}"
	everybody := "subjects: [{kind: Group, name: 'system:authenticated'}, {kind: Group, name: 'system:unauthenticated'}]"
	for _, c := range []struct{ match, exclude, want string }{
		{pods, pods, "all"},
		{pods, "resources: {kinds: [Pod], operations: [CREATE]}", "no"},
		{pods, "resources: {kinds: [Pod], operations: [CREATE, UPDATE]}", "all"},
		{pods, "resources: {kinds: [Pod/*]}", "all"},
		{pods, "resources: {kinds: [Pod/exec]}", "no"},
		{"resources: {kinds: [Pod/resize]}", pods, "all"},
		{"resources: {kinds: [Pod/exec]}", pods, "no"},
		{"resources: {kinds: [Pod/exec]}", "resources: {operations: [CONNECT]}", "all"},
		{"resources: {kinds: [Pod/exec]}", "resources: {operations: [CREATE]}", "no"},
		{"resources: {kinds: [Deployment]}", "resources: {kinds: [apps/v1/Deployment]}", "no"},
		{"resources: {kinds: [apps/v1/Deployment]}", "resources: {kinds: [Deployment]}", "all"},
		{"resources: {kinds: ['Deploy*']}", "resources: {kinds: ['Dep*']}", "all"},
		{"resources: {kinds: ['Dep*']}", "resources: {kinds: ['Deploy*']}", "no"},
		{"resources: {kinds: [Pod], operations: [CREATE]}", "resources: {operations: [CREATE]}", "all"},
		{"resources: {kinds: [Pod], operations: [UPDATE]}", "resources: {operations: [CREATE]}", "no"},
		{"resources: {kinds: [Pod], operations: [CREATE, UPDATE]}", "any: [{resources: {operations: [CREATE]}}, {resources: {operations: [UPDATE]}}]", "all"},
		{"resources: {kinds: [Pod, Secret]}", "any: [{resources: {kinds: [Secret]}}, {resources: {kinds: [Pod]}}]", "all"},
		{"resources: {kinds: [Pod, Secret]}", "all: [{resources: {kinds: [Secret]}}, {resources: {kinds: [Pod]}}]", "no"},
		{pods, "all: [{resources: {kinds: ['*']}}, {resources: {namespaces: ['*']}}]", "all"},
		{pods, "all: [{resources: {kinds: ['*']}}, {resources: {namespaces: ['a*']}}]", "no"},
		{pods, "resources: {namespaces: ['*']}", "all"},
		{pods, "resources: {namespaces: ['?*']}", "all"},
		{pods, "resources: {namespaces: ['??*']}", "no"},
		{pods, "resources: {namespaces: [shop]}", "no"},
		{role, "resources: {namespaces: ['*']}", "all, except for what is in no namespace"},
		{"resources: {kinds: [Namespace]}", "resources: {namespaces: ['*']}", "all"},
		{"resources: {kinds: ['*']}", "resources: {namespaces: ['*']}", "all, except for what is in no namespace"},
		{"resources: {kinds: ['*'], namespaces: [shop]}", "resources: {namespaces: ['*']}", "all"},
		{"resources: {kinds: [Pod], namespaces: [shop, web]}", "resources: {namespaces: [web, 'sh*']}", "all"},
		{"resources: {kinds: [Pod], namespaces: [shop, 'we*']}", "resources: {namespaces: [web, shop]}", "no"},
		{"resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b, c: d}}}", "resources: {namespaceSelector: {matchLabels: {c: d}}}", "all"},
		{"resources: {kinds: [Pod], namespaceSelector: {matchLabels: {c: d}}}", "resources: {namespaceSelector: {matchLabels: {a: b, c: d}}}", "no"},
		{"resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: Exists}]}}", "resources: {selector: {matchExpressions: [{key: a, operator: Exists}]}}", "all"},
		{"resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: Exists}]}}", "resources: {namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}}", "no"},
		{"resources: {kinds: [Pod], annotations: {a: b}}", "resources: {annotations: {a: b}}", "all"},
		{pods, "resources: {annotations: {a: b}}", "no"},
		{pods, "resources: {names: ['*']}", "all"},
		{pods, "resources: {names: ['?*']}", "all"},
		{"resources: {kinds: [TokenReview]}", "resources: {names: ['?*']}", "no"},
		{"resources: {kinds: [TokenReview]}", "resources: {names: ['*']}", "all"},
		{"resources: {kinds: [Pod], names: [a]}", "resources: {names: [a, b]}", "all"},
		{"resources: {kinds: [Pod], names: [a, c]}", "resources: {names: [a, b]}", "no"},
		{pods, everybody, "all"},
		{pods, "subjects: [{kind: Group, name: 'system:authenticated'}]", "all, except for anonymous requests"},
		{pods, "subjects: [{kind: Group, name: 'system:unauthenticated'}]", "no"},
		{pods, "subjects: [{kind: User, name: '*'}]", "all"},
		{pods, "subjects: [{kind: Group, name: '*'}]", "all"},
		{pods, "subjects: [{kind: Group, name: 'system:*'}]", "all"},
		{pods, "subjects: [{kind: Group, name: 'system:masters'}]", "no"},
		{pods, "subjects: [{kind: Group, name: 'system:authenticated'}]\nclusterRoles: [edit]", "no"},
		{pods, "any: [{subjects: [{kind: Group, name: 'system:authenticated'}]}, {subjects: [{kind: User, name: 'system:anonymous'}]}]", "all"},
		{pods + "\nsubjects: [{kind: User, name: bob}]", "subjects: [{kind: User, name: bob}]", "all"},
		{pods + "\nsubjects: [{kind: User, name: bob}]", "subjects: [{kind: User, name: ann}, {kind: User, name: 'b*'}]", "all"},
		{pods + "\nsubjects: [{kind: User, name: 'b*'}]", "subjects: [{kind: User, name: bob}]", "no"},
		{pods + "\nsubjects: [{kind: User, name: bob}]", "subjects: [{kind: Group, name: 'system:authenticated'}]", "all"},
		{pods + "\nsubjects: [{kind: User, name: 'system:*'}]", "subjects: [{kind: Group, name: 'system:authenticated'}]", "no"},
		{pods + "\nsubjects: [{kind: Group, name: dev}]", "subjects: [{kind: Group, name: 'system:authenticated'}]", "all"},
		{pods + "\nsubjects: [{kind: Group, name: 'system:unauthenticated'}]", "subjects: [{kind: Group, name: 'system:authenticated'}]", "no"},
		{pods + "\nsubjects: [{kind: Group, name: dev}]", "subjects: [{kind: User, name: bob}]", "no"},
		{pods + "\nsubjects: [{kind: ServiceAccount, namespace: a, name: b}]", "subjects: [{kind: User, name: 'system:serviceaccount:a:*'}]", "all"},
		{pods + "\nclusterRoles: [edit]", pods + "\nclusterRoles: [edit]", "all"},
		{pods + "\nclusterRoles: [edit]", pods + "\nclusterRoles: [view]", "no"},
		{pods + "\nclusterRoles: [edit]", pods + "\n" + everybody, "no"},
		{"all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [shop]}}]", "resources: {kinds: [Pod], namespaces: [shop]}", "all"},
		{"all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [shop]}}]", "resources: {kinds: [Pod], namespaces: [web]}", "no"},
		{"any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Secret]}}]", pods, "no"},
	} {
		got := "no"
		if covered := blockOf(t, c.match).Covered(blockOf(t, c.exclude), Space{Rule: true}); covered.All {
			got = "all" + covered.But()
		}
		if got != c.want {
			t.Errorf("%s\nwithout %s: %s, want %s", c.match, c.exclude, got, c.want)
		}
	}
}

// TestCoveredBySpace asks the same where more is known than the block says.
func TestCoveredBySpace(t *testing.T) {
	for _, c := range []struct {
		match, exclude string
		in             Space
		want           string
	}{
		{"resources: {kinds: [Pod]}", "resources: {namespaces: [shop]}", Space{Rule: true, Namespace: "shop"}, "all"},
		{"resources: {kinds: [Pod]}", "resources: {namespaces: [web]}", Space{Rule: true, Namespace: "shop"}, "no"},
		{"resources: {kinds: [Pod]}", "resources: {namespaces: ['*']}", Space{Rule: true, MayBeInNone: true}, "all, except for what is in no namespace"},
		{"resources: {kinds: [Pod]}", "resources: {kinds: [Pod]}", Space{Rule: true, EveryKind: true}, "no"},
		{"resources: {kinds: [Pod]}", "resources: {kinds: ['*'], names: ['?*']}", Space{Rule: true, EveryKind: true}, "all"},
		{"resources: {kinds: [Pod]}", "resources: {kinds: [Pod], operations: [CREATE, UPDATE]}", Space{}, "no"},
		{"resources: {kinds: [Pod]}", "resources: {kinds: [Pod], operations: [CREATE, UPDATE, DELETE]}", Space{}, "all"},
	} {
		got := "no"
		if covered := blockOf(t, c.match).Covered(blockOf(t, c.exclude), c.in); covered.All {
			got = "all" + covered.But()
		}
		if got != c.want {
			t.Errorf("%s without %s in %+v: %s, want %s", c.match, c.exclude, c.in, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"resources: {kinds: ['*']}": "all",
		"resources: {kinds: ['*'], operations: [CREATE,UPDATE,DELETE,CONNECT]}":   "no",
		"resources: {kinds: ['*'], names: ['*']}":                                 "all",
		"resources: {kinds: ['*'], names: ['?*']}":                                "no",
		"resources: {kinds: ['*'], namespaces: ['**']}":                           "all, except for what is in no namespace",
		"resources: {kinds: [Pod]}":                                               "no",
		"subjects: [{kind: Group, name: 'system:authenticated'}]":                 "all, except for anonymous requests",
		"subjects: [{kind: Group, name: 'system:authenticated'}]\nroles: ['a:b']": "no",
	} {
		got := "no"
		if covered := blockOf(t, text).EveryKind(Space{}); covered.All {
			got = "all" + covered.But()
		}
		if got != want {
			t.Errorf("everything without %s: %s, want %s", text, got, want)
		}
	}
	if (*Match)(nil).Covered(blockOf(t, "resources: {kinds: [Pod]}"), Space{}).All || blockOf(t, "resources: {kinds: [Pod]}").Covered(nil, Space{}).All {
		t.Error("nothing covers, or is covered")
	}
}
