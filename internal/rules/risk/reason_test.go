package risk

import (
	"strings"
	"testing"
	"unicode/utf8"
)

var someValues = reasonValues{
	score: 85, factors: "hostNetwork, runAsRoot", pod: "web-0", namespace: "shop",
	container: "app", user: "jane", subresource: "exec", cluster: "prod-1",
}

func TestReasons(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"text", "Ask the platform team.", "Ask the platform team."},
		{"every field", "{{.score}} {{.factors}} {{.pod}} {{.namespace}} {{.container}} {{.user}} {{.subresource}} {{.cluster}}",
			"85 hostNetwork, runAsRoot web-0 shop app jane exec prod-1"},
		{"document's first", "Pod exceeds security risk threshold (score: {{.score}}). Factors: {{.factors}}",
			"Pod exceeds security risk threshold (score: 85). Factors: hostNetwork, runAsRoot"},
		{"spaces trimmed", "a {{- .pod -}} b", "aweb-0b"},
		{"comment", "a{{/* why */}}b", "ab"},
		{"a field that is there", "{{if .container}}in {{.container}}{{else}}somewhere{{end}}", "in app"},
		{"comparison of numbers", "{{if gt .score 80}}high{{else if gt .score 50}}middle{{else}}low{{end}}", "high"},
		{"comparison of texts", `{{if and (eq .cluster "prod-1" "prod-2") (ne .user "root")}}both{{end}}`, "both"},
		{"negation", `{{if not (le .score 80)}}above{{end}}`, "above"},
		{"text in quotes", `{{"{{"}}`, "{{"},
		{"lines", "one\ntwo\n", "one\ntwo"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tmpl, err := parseReason(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := someValues.render(tmpl)
			if err != nil || got != tc.want {
				t.Errorf("got %q and error %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestReasonsThatAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, text, says string }{
		{"unclosed", "{{.score", "is not a template"},
		{"unclosed if", "{{if .score}}x", "is not a template"},
		{"unknown field", "{{.foo}}", "{{.foo}} is none of the fields"},
		{"unknown field in a branch that does not run", "{{if false}}{{.foo}}{{end}}", "none of the fields"},
		{"field in another case", "{{.Score}}", "did you mean score?"},
		{"field of a field", "{{.pod.name}}", "cannot be used"},
		{"everything", "{{.}}", "cannot be used"},
		{"the root", "{{$.score}}", "cannot be used"},
		{"variable", "{{$x := .score}}{{$x}}", "cannot be used"},
		{"pipeline", "{{.score | printf \"%d\"}}", "cannot be used"},
		{"print with a width", "{{printf \"%1000000000d\" .score}}", "function printf cannot be used"},
		{"call", "{{call .pod}}", "function call cannot be used"},
		{"unknown function", "{{env \"HOME\"}}", "not defined"},
		{"range", "{{range .factors}}x{{end}}", "cannot be used"},
		{"range over a number", "{{range 1000000000}}{{range 1000000000}}x{{end}}{{end}}", "cannot be used"},
		{"with", "{{with .pod}}{{.}}{{end}}", "cannot be used"},
		{"break", "{{range .pod}}{{break}}{{end}}", "cannot be used"},
		{"definition", `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`, "defines a template"},
		{"template that is not there", `{{template "x"}}`, "cannot be used"},
		{"template that is itself", `{{template "line"}}`, "cannot be used"},
		{"block", `{{block "x" .}}{{end}}`, "defines a template"},
		{"only definition", `{{define "x"}}y{{end}}`, "defines a template"},
		{"text compared with a number", "{{if gt .pod 3}}x{{end}}", "does not take these arguments"},
		{"the same in a branch that does not run", "{{if gt .score 1000}}{{if eq .pod 3}}x{{end}}{{end}}", "does not take these arguments"},
		{"number compared with a text", `{{if eq .score "3"}}x{{end}}`, "does not take these arguments"},
		{"fraction", "{{if gt .score 1.5}}x{{end}}", "cannot be used"},
		{"too few arguments", "{{if gt .score}}x{{end}}", "does not take these arguments"},
		{"field with arguments", "{{.score 1}}", "cannot be used"},
		{"nil", "{{nil}}", ""},
		{"too long", strings.Repeat("x", maxReasonText+1), "are allowed"},
		{"parentheses without end", strings.Repeat("{{", 1) + strings.Repeat("(", 2000), "is not a template"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseReason(tc.text)
			if err == nil {
				t.Fatal("it was accepted")
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the error does not say %q: %v", tc.says, err)
			}
		})
	}
}

func TestReasonsAreBounded(t *testing.T) {
	tmpl, err := parseReason(strings.Repeat("{{.user}}", maxReasonText/len("{{.user}}")))
	if err != nil {
		t.Fatal(err)
	}
	values := someValues
	values.user = strings.Repeat("ü", 100000)
	got, err := values.render(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > maxReasonOutput || !utf8.ValidString(got) || len(got) < maxReasonOutput/2 {
		t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
	}
}

func TestReasonsHoldNoControlCharacters(t *testing.T) {
	tmpl, err := parseReason("{{.user}}/{{.container}}")
	if err != nil {
		t.Fatal(err)
	}
	values := someValues
	values.user, values.container = "jane\x1b[2J\u202e", "a\nb"
	got, err := values.render(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(got, "\x1b\n\u202e") {
		t.Errorf("it holds control characters: %q", got)
	}
}
