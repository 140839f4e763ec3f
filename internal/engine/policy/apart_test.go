package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestNamesOfFilesThatComeLater tells a policy of the API server that one from a file has
// taken its name since, and that it has it again once the file is without it.
func TestNamesOfFilesThatComeLater(t *testing.T) {
	inCluster := yamlOf("ClusterPolicy", "p", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`)
	store, feed := started(t, inCluster)
	objects := asStored(t, inCluster)
	feed.Take(objects)
	told := 0
	store.Apart(func() {
		told++
		// Whoever is told may ask.
		feed.Outcome(objects[0])
	})
	want := func(what string, problems, times int) {
		t.Helper()
		outcome, ok := feed.Outcome(objects[0])
		if !ok || len(outcome.Problems) != problems || problems > 0 && !strings.Contains(outcome.Problems.Error(), "twice") {
			t.Errorf("%s: %+v", what, outcome)
		}
		if told != times {
			t.Errorf("%s: told %d times, want %d", what, told, times)
		}
	}
	replace := func(documents ...string) {
		t.Helper()
		if problems := store.Replace("files", sourcesOf(t, documents...)); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	want("before", 0, 0)
	replace(inCluster)
	want("a file has the name", 1, 1)
	replace(inCluster)
	want("the file is read again", 1, 1)
	if problems := store.Replace("files", sourcesOf(t, inCluster, inCluster)); len(problems) == 0 {
		t.Error("two in files are accepted")
	}
	want("files that are not accepted", 1, 1)
	feed.Take(objects)
	want("policies are read again", 1, 1)
	replace()
	want("the file is without it", 0, 2)
}

// TestBothHold has a policy of the API server stay in force beside a file that has its
// name, whichever came first: what neither of them refuses is let in, and what one of them
// does is refused in its own words.
func TestBothHold(t *testing.T) {
	named := func(name string) string {
		return `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {pattern: {metadata: {name: "` + name + `"}}}}]}`
	}
	const others = `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {pattern: {metadata: {name: x}}}}]}`
	of := configMapOfShop(t).Name
	for _, c := range []struct {
		name, kind, stored, file string
		refused                  []string
	}{
		{"the stored one refuses", "ClusterPolicy x", named("nothing-" + of), named("*"), []string{"fail", "pass"}},
		{"the file refuses", "ClusterPolicy x", named("*"), named("nothing-" + of), []string{"fail", "pass"}},
		{"neither refuses", "ClusterPolicy x", named("*"), named("?*"), []string{"pass", "pass"}},
		{"the file is about something else", "ClusterPolicy x", named("nothing-" + of), others, []string{"fail"}},
		{"a Policy", "Policy shop/x", named("nothing-" + of), others, []string{"fail"}},
		{"one that says the same", "ClusterPolicy x", named("*"), named("*"), []string{"pass"}},
	} {
		kind, name, _ := strings.Cut(c.kind, " ")
		inCluster, inFile := yamlOf(kind, name, c.stored), yamlOf(kind, name, c.file)
		for _, filesFirst := range []bool{false, true} {
			store, feed := started(t)
			replace := func() {
				if problems := store.Replace("files", sourcesOf(t, inFile)); len(problems) > 0 {
					t.Fatal(problems)
				}
			}
			objects := asStored(t, inCluster)
			if filesFirst {
				replace()
			}
			feed.Take(objects)
			replace()
			var statuses []string
			for _, r := range store.Set().Decide(t.Context(), configMapOfShop(t)).Results {
				statuses = append(statuses, string(r.Status))
			}
			slices.Sort(statuses)
			if !slices.Equal(statuses, c.refused) {
				t.Errorf("%s, files first %v: %q, want %q", c.name, filesFirst, statuses, c.refused)
			}
			outcome, ok := feed.Outcome(objects[0])
			bothSaid := strings.Contains(outcome.Problems.Error(), "until then both are in force")
			if !ok || len(outcome.Problems) != 1 || bothSaid == (c.stored == c.file) || outcome.Meanwhile != "" || len(store.Set().Broken()) > 0 {
				t.Errorf("%s: %+v", c.name, outcome)
			}
		}
	}
}

// TestBothDeny does the same for DenyPolicies.
func TestBothDeny(t *testing.T) {
	deny := func(resource string) string {
		return yamlOf("DenyPolicy", "d", `spec: {rules: [{verbs: [get], apiGroups: [""], resources: [`+resource+`]}]}`)
	}
	store, feed := started(t)
	if problems := store.Replace("files", sourcesOf(t, deny("secrets"))); len(problems) > 0 {
		t.Fatal(problems)
	}
	feed.Take(asStored(t, deny("configmaps")))
	if set := store.Set(); len(set.Deny) != 2 || len(set.Broken()) > 0 || set.Counts().DenyPolicies != 2 {
		t.Errorf("%d in force, broken are %v", len(set.Deny), set.Broken())
	}
}

// TestSameSpecWithAnotherAnnotation has both in force where the same rules are carried over
// to other kinds.
func TestSameSpecWithAnotherAnnotation(t *testing.T) {
	none := strings.Replace(yamlOf("ClusterPolicy", "x", soundRules), "{name: x", "{name: x, annotations: {sallyport.io/autogen-controllers: none}", 1)
	store, feed := started(t)
	if problems := store.Replace("files", sourcesOf(t, none)); len(problems) > 0 {
		t.Fatal(problems)
	}
	feed.Take(asStored(t, yamlOf("ClusterPolicy", "x", soundRules)))
	on := 0
	for _, r := range store.Set().rules.All {
		if r.Generated.On {
			on++
		}
	}
	if n := len(store.Set().rules.All); n != 2 || on != 1 {
		t.Errorf("%d rules are in force, %d of them for what makes pods", n, on)
	}
}
