package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var watchCount = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{([^}]*)\} (\d+)`)

// watchesOf counts the watches of a resource that the API server has open.
func watchesOf(t *testing.T, resource string) int {
	t.Helper()
	metrics := shared.Kubectl(t.Context(), root, "get", "--raw", "/metrics")
	if !metrics.OK() {
		t.Fatal(metrics)
	}
	n := 0
	for _, found := range watchCount.FindAllStringSubmatch(metrics.Stdout, -1) {
		if strings.Contains(found[1], `resource="`+resource+`"`) && strings.Contains(found[1], `verb="WATCH"`) {
			count, err := strconv.Atoi(found[2])
			if err != nil {
				t.Fatal(err)
			}
			n += count
		}
	}
	return n
}

// awaitWatches waits until a resource has so many watches.
func awaitWatches(t *testing.T, resource string, want int) {
	t.Helper()
	eventually(t, func() string {
		if got := watchesOf(t, resource); got != want {
			return strconv.Itoa(got) + " watches of " + resource + ", want " + strconv.Itoa(want)
		}
		return ""
	})
}
