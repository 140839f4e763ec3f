package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestAskedAccess lists requests that stand for what a DenyPolicy is about.
func TestAskedAccess(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"points", `podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, log, ephemeralcontainers, nodes/proxy]}}`,
			[]string{"CONNECT create of pods/exec", "UPDATE patch of pods/ephemeralcontainers", " get of pods/log", "CONNECT delete of nodes/proxy"}},
		{"a way in by one verb", `rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]}]`, []string{"CONNECT get of pods/exec"}},
		{"the front door's own word", `rules: [{verbs: [connect], apiGroups: [""], resources: [pods/exec]}]`, []string{"CONNECT get of pods/exec", "CONNECT create of pods/exec"}},
		{"resources", `rules: [{verbs: [list, deletecollection], apiGroups: [apps], resources: [deployments]}]`, []string{" list of deployments.apps", "DELETE deletecollection of deployments.apps"}},
		{"subresources", `rules: [{verbs: [update], apiGroups: [apps], resources: [deployments], subresources: [scale, status]}]`, []string{"UPDATE update of deployments.apps/scale", "UPDATE update of deployments.apps/status"}},
		{"the same twice", `rules: [{verbs: [list], apiGroups: [apps], resources: [deployments]}, {verbs: [list], apiGroups: [apps], resources: [deployments]}]`, []string{" list of deployments.apps"}},
		{"impersonation", `rules: [{verbs: [impersonate], apiGroups: [""], resources: [users]}]`, []string{" impersonate of users"}},
		{"a pattern of verbs", `rules: [{verbs: ["delete*"], apiGroups: [""], resources: [secrets]}]`, []string{"DELETE deletecollection of secrets", "DELETE delete of secrets"}},
		{"everything", `rules: [{verbs: [get], apiGroups: ["*"], resources: ["*"], namespaces: {patterns: [x]}}]`, []string{"CONNECT get of pods/exec", "CONNECT get of pods/attach",
			"CONNECT get of pods/portforward", "CONNECT get of pods/proxy", "CONNECT get of services/proxy", "CONNECT get of nodes/proxy", " get of other resources"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources := sourcesOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: x}\nspec: {"+c.spec+"}\n")
			set, problems := Compile(sources, pod.Default(), exception.Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, d := range set.AskedAccess()[0].Doors {
				got = append(got, fmt.Sprintf("%s %s", d.Operation, d))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestAskedAccessIsBounded however long a policy is.
func TestAskedAccessIsBounded(t *testing.T) {
	spec := ""
	for i := range 3 * mostAsked {
		spec += fmt.Sprintf("{verbs: [get], apiGroups: [example.com], resources: [r%d]}, ", i)
	}
	sources := sourcesOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: x}\nspec: {rules: ["+spec+"]}\n")
	set, problems := Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if n := len(set.AskedAccess()[0].Doors); n != mostAsked {
		t.Errorf("%d requests", n)
	}
}
