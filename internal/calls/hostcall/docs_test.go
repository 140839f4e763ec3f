package hostcall_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// TestDocs holds the page on host calls to the program: each call has a section,
// whose first block is a payload that can be read.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/host-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(page), "\n### `")[1:] {
		name, rest, _ := strings.Cut(s, "`\n")
		sections[name] = rest
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	for _, o := range hostcall.Operations() {
		found := blocks.FindAllStringSubmatch(sections[string(o)], -1)
		if len(found) == 0 {
			t.Errorf("%s has no section with a payload", o)
			continue
		}
		if _, err := hostcall.Decode(o, []byte(found[0][1])); err != nil {
			t.Errorf("%s: %v", o, err)
		}
		for _, block := range found {
			if !json.Valid([]byte(block[1])) {
				t.Errorf("%s: no JSON: %s", o, block[1])
			}
		}
		delete(sections, string(o))
	}
	for name := range sections {
		t.Errorf("there is no call %s", name)
	}
}
