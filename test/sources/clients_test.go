package sources

import (
	"regexp"
	"strings"
	"testing"
)

// makesClient is how a client of an API server is made.
var makesClient = regexp.MustCompile(`\b\w*ForConfig(AndClient)?\(|\bclient\.New\(|\bcache\.New\(|\bRESTClientFor\(|\bHTTPClientFor\(`)

// TestClientsHaveAPace finds clients that are made without a pace: client-go would hold
// them to 5 requests a second, which is seen only where there is much.
func TestClientsHaveAPace(t *testing.T) {
	found := 0
	eachSource(t, func(path, source string) {
		if !strings.Contains(source, `"k8s.io/client-go/rest"`) || !makesClient.MatchString(source) {
			return
		}
		found++
		if !strings.Contains(source, "pace.") {
			t.Errorf("%s makes a client of an API server without a pace of internal/watch/pace", path)
		}
	})
	if found < 10 {
		t.Errorf("only %d files make clients", found)
	}
}
