package wasm

import (
	"strings"
	"testing"
)

// TestFaultyInput says that what is wrong with a request or with settings is said,
// and not only that something is.
func TestFaultyInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ request, settings, want string }{
		{`{"uid":"1","uid":"2"}`, `{}`, `the request is not valid JSON: `},
		{`{}`, `{"a":1,"a":2}`, `the settings are not a JSON object: `},
	} {
		_, err := validatePayload([]byte(c.request), []byte(c.settings))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "duplicate") {
			t.Errorf("%s %s: %v", c.request, c.settings, err)
		}
	}
	if _, err := validatePayload([]byte(`{}`), []byte(`[]`)); err == nil || err.Error() != "the settings are not a JSON object" {
		t.Errorf("a list: %v", err)
	}
}
