package policy

import (
	"strings"
	"testing"
)

// TestNamesOfFilesThatComeLater tells a policy of the API server that one from a file has
// taken its name since, and that it has it again once the file is without it.
func TestNamesOfFilesThatComeLater(t *testing.T) {
	inCluster := yamlOf("ClusterPolicy", "p", `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`)
	store, feed := started(t, inCluster)
	objects := stored(t, inCluster)
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
		t.Error("two in files are taken")
	}
	want("files that are not taken", 1, 1)
	feed.Take(objects)
	want("policies are read again", 1, 1)
	replace()
	want("the file is without it", 0, 2)
}
