package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, short := write("secret", "0123456789abcdef\n"), write("short", "x")
	address := write("url", "https://hooks.example/services/T0/B0/SECRET\n")
	tests := []struct{ name, text, want string }{
		{"a good one", "targets:\n- {name: a, url: 'https://a.example', format: slack, secretFile: " + secret + ", events: [asked]}\n- {name: b, urlFile: " + address + "}\n- {name: c, url: 'http://127.0.0.1:8080'}", ""},
		{"none", "targets: []", "targets: it is empty"},
		{"no YAML", "targets: [", "is not YAML"},
		{"twice the same key", "targets: []\ntargets: []", "is not YAML"},
		{"an unknown field", "targets:\n- {name: a, uri: 'https://a.example'}", "uri"},
		{"null", "targets: [null]", "targets[0]: is null"},
		{"no name", "targets:\n- {url: 'https://a.example'}", "targets[0].name: is missing"},
		{"a name twice", "targets:\n- {name: a, url: 'https://a.example'}\n- {name: a, url: 'https://a.example'}", "targets[1].name: \"a\" is taken"},
		{"no address", "targets:\n- {name: a}", "targets[0].url: give one of url and urlFile"},
		{"two addresses", "targets:\n- {name: a, url: 'https://a.example', urlFile: " + address + "}", "give one of url and urlFile"},
		{"no https", "targets:\n- {name: a, url: 'http://a.example/SECRET'}", "does not begin with https://"},
		{"no URL", "targets:\n- {name: a, url: nowhere}", "it is not a URL"},
		{"a format", "targets:\n- {name: a, url: 'https://a.example', format: Slack}", `format: "Slack" is not known`},
		{"an event", "targets:\n- {name: a, url: 'https://a.example', events: [ask]}", `events[0]: "ask" is not known`},
		{"no event", "targets:\n- {name: a, url: 'https://a.example', events: []}", "events: an empty list"},
		{"no cluster", "targets:\n- {name: a, url: 'https://a.example', clusters: ['']}", "clusters: an empty name"},
		{"a short secret", "targets:\n- {name: a, url: 'https://a.example', secretFile: " + short + "}", "the secret has 1 bytes"},
		{"a secret that is not there", "targets:\n- {name: a, url: 'https://a.example', secretFile: /nowhere}", "secretFile: open /nowhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			targets, err := ReadConfig(write("config.yaml", tt.text))
			switch {
			case tt.want == "" && (err != nil || len(targets) != 3 || string(targets[0].secret) != "0123456789abcdef" || !strings.HasSuffix(targets[1].URL, "/SECRET")):
				t.Errorf("got %v, %v", targets, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			case err != nil && strings.Contains(err.Error(), "SECRET"):
				t.Errorf("the error shows the address: %v", err)
			}
		})
	}
	if _, err := ReadConfig(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there is read")
	}
}
