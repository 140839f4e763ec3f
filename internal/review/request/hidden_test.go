package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestHidden prints, logs and writes a request in every way, and looks for what an
// exec runs.
func TestHidden(t *testing.T) {
	const secret = "hunter2"
	r := Request{Options: &ConnectOptions{Kind: "PodExecOptions", Body: Hide([]byte(`{"command":["` + secret + `"]}`))}}
	var said strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&said, verb, r.Options.Body)
		fmt.Fprintf(&said, verb, r.Options)
		fmt.Fprintf(&said, verb, *r.Options)
	}
	text, err := json.Marshal(r.Options)
	if err != nil {
		t.Fatal(err)
	}
	said.Write(text)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("a request", "options", r.Options, "body", r.Options.Body)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("a request", "options", r.Options, "body", r.Options.Body)
	said.Write(log.Bytes())
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), "104 117 110"} {
		if strings.Contains(said.String(), form) {
			t.Errorf("%q shows in %s", form, said.String())
		}
	}
	if !strings.Contains(string(r.Options.Body.Reveal()), secret) {
		t.Error("it cannot be read for judging")
	}
	if !r.Options.Body.Equal(Hide(r.Options.Body.Reveal())) || r.Options.Body.Equal(Hidden{}) {
		t.Error("two of them are compared wrongly")
	}
}
