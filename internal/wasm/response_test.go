package wasm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeResponse(t *testing.T) {
	many := `{"accepted":true,"warnings":[` + strings.Repeat(`"w",`, 256) + `"w"]}`
	tests := []struct {
		name, answer string
		want         Response
		text         string // of an error
	}{
		{name: "accepted", answer: `{"accepted":true}`, want: Response{Accepted: true}},
		{name: "all fields", answer: ` {"accepted":false,"message":"no","code":403,"mutated_object":{"a":1},"audit_annotations":{"k":"v"},"warnings":["w"]} `,
			want: Response{Message: "no", Code: 403, MutatedObject: json.RawMessage(`{"a":1}`), AuditAnnotations: map[string]string{"k": "v"}, Warnings: []string{"w"}}},
		{name: "null is absent", answer: `{"accepted":true,"message":null,"code":null,"mutated_object":null,"audit_annotations":null,"warnings":null}`, want: Response{Accepted: true}},
		{name: "a field of a later version", answer: `{"accepted":true,"later":{"x":[]}}`, want: Response{Accepted: true}},
		{name: "a long message is cut", answer: `{"accepted":false,"message":"` + strings.Repeat("é", longestText) + `"}`, want: Response{Message: strings.Repeat("é", longestText/2)}},
		{name: "nothing", answer: ``, text: "gave no answer"},
		{name: "null", answer: `null`, text: "no field accepted"},
		{name: "no verdict", answer: `{}`, text: "no field accepted"},
		{name: "a verdict of null", answer: `{"accepted":null}`, text: "no field accepted"},
		{name: "a verdict in other letters", answer: `{"Accepted":true}`, text: "no field accepted"},
		{name: "a verdict twice", answer: `{"accepted":false,"accepted":true}`, text: "duplicate"},
		{name: "a verdict that is a string", answer: `{"accepted":"true"}`, text: "accepted"},
		{name: "a verdict that is a number", answer: `{"accepted":1}`, text: "accepted"},
		{name: "a code that is too large", answer: `{"accepted":true,"code":65536}`, text: "code"},
		{name: "a code below zero", answer: `{"accepted":true,"code":-1}`, text: "code"},
		{name: "a code with a fraction", answer: `{"accepted":true,"code":1.5}`, text: "code"},
		{name: "a name twice in the object", answer: `{"accepted":true,"mutated_object":{"a":1,"a":2}}`, text: "duplicate"},
		{name: "something that follows", answer: `{"accepted":true}{}`, text: "makes no sense"},
		{name: "not UTF-8", answer: "{\"accepted\":true,\"message\":\"\xff\"}", text: "UTF-8"},
		{name: "too many warnings", answer: many, text: "257 annotations or warnings"},
		{name: "too deep", answer: `{"accepted":true,"x":` + strings.Repeat("[", 100_000), text: "makes no sense"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := DecodeResponse([]byte(test.answer))
			if test.text != "" {
				if err == nil || !strings.Contains(err.Error(), test.text) {
					t.Errorf("got %+v, %v, want an error about %q", got, err, test.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeSettingsResponse(t *testing.T) {
	for answer, want := range map[string]string{
		`{"valid":true}`: "", `{"valid":false,"message":"m"}`: "", `{}`: "no field valid", `{"valid":0}`: "valid", ``: "no answer",
	} {
		if _, err := DecodeSettingsResponse([]byte(answer)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}

func TestResponsePatch(t *testing.T) {
	changed := Response{Accepted: true, MutatedObject: json.RawMessage(`{"a":2}`)}
	same := Response{Accepted: true, MutatedObject: json.RawMessage(`{ "a": 1.0 }`)}
	before := json.RawMessage(`{"a":1}`)
	if patch, err := changed.Patch(before, true); err != nil || string(patch) != `[{"op":"replace","path":"/a","value":2}]` {
		t.Errorf("%s, %v", patch, err)
	}
	if _, err := changed.Patch(before, false); !errors.Is(err, ErrMutates) {
		t.Errorf("not mutating: %v", err)
	}
	if patch, err := same.Patch(before, false); err != nil || patch != nil {
		t.Errorf("the same object: %s, %v", patch, err)
	}
	for _, none := range []json.RawMessage{nil, json.RawMessage("null")} {
		if _, err := changed.Patch(none, true); err == nil || !strings.Contains(err.Error(), "the request has none") {
			t.Errorf("no object: %v", err)
		}
	}
	if patch, err := (Response{}).Patch(before, false); err != nil || patch != nil {
		t.Errorf("nothing changed: %s, %v", patch, err)
	}
}

func TestPayload(t *testing.T) {
	tests := []struct{ request, settings, want string }{
		{`{"uid":"1"}`, ``, `{"request":{"uid":"1"},"settings":{}}`},
		{`{"uid":"1"}`, `null`, `{"request":{"uid":"1"},"settings":{}}`},
		{`"raw"`, ` {"a":1} `, `{"request":"raw","settings":{"a":1}}`},
		{`{},"settings":{"forged":true}`, ``, ""},
		{`{`, ``, ""},
		{``, ``, ""},
		{`{}`, `[]`, ""},
		{`{}`, `{},"request":{}`, ""},
	}
	for _, test := range tests {
		got, err := validatePayload(json.RawMessage(test.request), json.RawMessage(test.settings))
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s with %s: %s, %v", test.request, test.settings, got, err)
		}
	}
}
