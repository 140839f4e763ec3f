package pattern_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-io/sallyport/internal/rules/pattern"
)

// refusal is a pattern that is refused, and the path below where() that the
// error has to name, or to begin with. Keys in brackets and keys after a dot are
// taken as the same.
type refusal struct {
	name    string
	pattern string // YAML
	at      string
}

func plainPath(path string) string {
	return strings.Trim(strings.NewReplacer("[", ".", "]", "", "..", ".").Replace(path), ".")
}

func TestRefusedPatterns(t *testing.T) {
	tests := []refusal{
		{"add anchor", `{spec: {+(hostNetwork): false}}`, "spec.+(hostNetwork)"},
		{"add anchor in a list", `{spec: {containers: [{+(image): x}]}}`, "spec.containers[0].+(image)"},
		{"add anchor below another anchor", `{=(spec): {+(a): x}}`, "=(spec).+(a)"},
		{"bracket that is not closed", `{spec: {(image: x}}`, "spec.(image"},
		{"bracket that is not opened", `{spec: {image): x}}`, "spec.image)"},
		{"if present that is not closed", `{spec: {=(image: x}}`, "spec.=(image"},
		{"absent that is not closed", `{spec: {X(image: x}}`, "spec.X(image"},
		{"existence that is not closed", `{spec: {^(c: [{a: b}]}}`, "spec.^(c"},
		{"global that is not closed", `{spec: {<(image: x}}`, "spec.<(image"},
		{"if present without its bracket", `{spec: {=image): x}}`, "spec.=image)"},
		{"two closing brackets", `{spec: {(image)): x}}`, "spec.(image))"},
		{"unknown anchor ~", `{spec: {~(image): x}}`, "spec.~(image)"},
		{"unknown anchor >", `{spec: {">(image)": x}}`, "spec.>(image)"},
		{"unknown anchor !", `{spec: {"!(image)": x}}`, "spec.!(image)"},
		{"unknown anchor #", `{spec: {"#(image)": x}}`, "spec.#(image)"},
		{"unknown anchor -", `{spec: {"-(image)": x}}`, "spec.-(image)"},
		{"unknown anchor x", `{spec: {"x(hostPath)": null}}`, "spec.x(hostPath)"},
		{"unknown anchor of two characters", `{spec: {"<=(image)": x}}`, "spec.<=(image)"},
		{"something after the bracket", `{spec: {"(image)s": x}}`, "spec.(image)s"},
		{"condition on no key", `{spec: {(): x}}`, "spec.()"},
		{"if present on no key", `{spec: {=(): x}}`, "spec.=()"},
		{"absent on no key", `{spec: {X(): "null"}}`, "spec.X()"},
		{"existence on no key", `{spec: {^(): [{a: b}]}}`, "spec.^()"},
		{"no key", `{spec: {"": x}}`, "spec"},
		{"existence of a map", `{spec: {^(c): {a: b}}}`, "spec.^(c)"},
		{"existence of a scalar", `{spec: {^(c): "*"}}`, "spec.^(c)"},
		{"existence of null", `{spec: {^(c): null}}`, "spec.^(c)"},
		{"existence of scalars", `{spec: {^(c): [a]}}`, "spec.^(c)"},
		{"existence of a list", `{spec: {^(c): [[a]]}}`, "spec.^(c)"},
		{"existence of nothing", `{spec: {^(c): []}}`, "spec.^(c)"},
		{"an empty list", `{spec: {containers: []}}`, "spec.containers"},
		{"an empty list below an anchor", `{spec: {=(containers): []}}`, "spec.=(containers)"},
		{"an empty list in a list", `{m: [[]]}`, "m"},
		{"an empty list deep down", `{a: [{b: {c: []}}]}`, "a[0].b.c"},
		{"several scalars", `{spec: {add: [CHOWN, KILL]}}`, "spec.add"},
		{"several scalars of several types", `{x: [1, true]}`, "x"},
		{"wildcard key in spec", `{spec: {"host*": false}}`, "spec.host*"},
		{"wildcard key at the root", `{"*": {a: b}}`, "*"},
		{"question mark key in spec", `{spec: {"host???": false}}`, "spec.host???"},
		{"wildcard key below an anchor", `{spec: {=(host*): false}}`, "spec.=(host*)"},
		{"wildcard key that must be absent", `{spec: {X(host*): "null"}}`, "spec.X(host*)"},
		{"wildcard key in metadata", `{metadata: {"lab*": {a: b}}}`, "metadata.lab*"},
		{"wildcard key in labels outside of metadata", `{spec: {labels: {"a*": b}}}`, "spec.labels.a*"},
		{"wildcard key in labels at the root", `{labels: {"a*": b}}`, "labels.a*"},
		{"wildcard key in a selector", `{spec: {selector: {matchLabels: {"a*": b}}}}`, "spec.selector.matchLabels.a*"},
		{"wildcard key in a node selector", `{spec: {nodeSelector: {"corp.io/*": b}}}`, "spec.nodeSelector[corp.io/*]"},
		{"wildcard key deeper than labels", `{metadata: {labels: {a: {"b*": c}}}}`, "metadata.labels.a.b*"},
		{"wildcard key in a list", `{c: [{a: b}, {"d*": e}]}`, "c[1].d*"},
		{"greater than nothing", `{x: ">"}`, "x"},
		{"less than nothing", `{x: "<"}`, "x"},
		{"at least nothing", `{x: ">="}`, "x"},
		{"at most nothing", `{x: "<= "}`, "x"},
		{"not nothing", `{x: "!"}`, "x"},
		{"not blanks", `{x: "!  "}`, "x"},
		{"greater than a word", `{x: ">abc"}`, "x"},
		{"at most a word", `{x: "<=abc"}`, "x"},
		{"less than a wildcard", `{x: "<*"}`, "x"},
		{"at least a wildcard", `{x: ">=?*"}`, "x"},
		{"greater than a number with a wildcard", `{x: ">1*"}`, "x"},
		{"no suffix of a quantity", `{x: "<=10MB"}`, "x"},
		{"a blank in the quantity", `{x: "<=10 Mi"}`, "x"},
		{"two operators", `{x: ">>5"}`, "x"},
		{"not greater", `{x: "!>5"}`, "x"},
		{"not a range", `{x: "!1-10"}`, "x"},
		{"contrary operators", `{x: "<>5"}`, "x"},
		{"greater than a range of words", `{x: ">a-b"}`, "x"},
		{"wrong in an alternative", `{x: "5 | >"}`, "x"},
		{"wrong in a conjunction", `{x: ">=10Mi & <=lots"}`, "x"},
		{"wrong deep down", `{spec: {containers: [{resources: {limits: {memory: "<=lots"}}}]}}`, "spec.containers[0].resources.limits.memory"},
		{"wrong in a scalar element", `{spec: {args: [">x"]}}`, "spec.args"},
		{"wrong in a condition", `{spec: {(replicas): ">x", a: b}}`, "spec.(replicas)"},
		{"wrong in a label", `{metadata: {labels: {app.io/tier: ">x"}}}`, "metadata.labels[app.io/tier]"},
		{"wrong in a list of lists", `{m: [[a, ">x"]]}`, "m[0]"},
	}
	base := plainPath(where().String()) + "."
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := pattern.Compile(decode(t, tt.pattern), where())
			if len(errs) == 0 {
				t.Fatalf("Compile(%s) takes it", tt.pattern)
			}
			for _, err := range errs {
				if got, want := plainPath(err.Field), base+plainPath(tt.at); got != want && !strings.HasPrefix(got, want+".") {
					t.Errorf("path %s, want %s (%v)", got, want, err)
				}
				if err.Detail == "" {
					t.Errorf("%v says nothing of what would be right", err)
				}
			}
		})
	}
}

// Every mistake is named at once: who loads a policy does not mend it one
// error at a time.
func TestRefusedEverywhere(t *testing.T) {
	_, errs := pattern.Compile(decode(t, `{a: ">", b: {"c*": d}, e: [], +(f): g}`), where())
	if len(errs) < 4 {
		t.Errorf("%d errors, want one for each of 4 mistakes: %v", len(errs), errs.ToAggregate())
	}
}

func TestRefusedAnyPattern(t *testing.T) {
	path := where()
	if _, errs := pattern.CompileAny(nil, path); len(errs) == 0 || errs[0].Field != path.String() {
		t.Errorf("CompileAny of nothing: %v, want an error at %s", errs, path)
	}
	if _, errs := pattern.CompileAny([]any{}, path); len(errs) == 0 {
		t.Error("CompileAny of an empty list takes it")
	}
	_, errs := pattern.CompileAny([]any{decode(t, `{a: b}`), decode(t, `{a: {b: ">"}}`)}, path)
	if len(errs) != 1 || errs[0].Field != path.Index(1).Child("a", "b").String() {
		t.Errorf("%v, want one error at %s", errs, path.Index(1).Child("a", "b"))
	}
	if _, errs := pattern.Compile([]any{}, path); len(errs) == 0 {
		t.Error("Compile of an empty list takes it")
	}
}

// Strings that look like an operator's use and are none.
func TestAcceptedPatterns(t *testing.T) {
	for _, text := range []string{
		`{x: "a-b"}`, `{x: "!a-b"}`, `{x: "a!-b"}`, `{x: "nginx:1.2-alpine"}`, `{x: "-"}`, `{x: "--flag"}`, `{x: "a>b"}`,
		`{x: "a<b"}`, `{x: "a!b"}`, `{x: "a=b"}`, `{x: "5"}`, `{x: "-5"}`, `{x: ">-5"}`, `{x: ">= 5"}`, `{x: "<1h30m"}`, `{x: ">1e3"}`,
		`{X(k): "null"}`, `{X(k): {}}`, `{x: {}}`, `{x: [[a, b]]}`, `{x: [a]}`, `{x: [{a: b}, {c: d}]}`,
		`{metadata: {=(annotations): {"X(a*)": "null"}}}`, `{x: ""}`, `{x: "日*"}`, `{größe: "?"}`,
	} {
		t.Run(text, func(t *testing.T) { compile(t, text) })
	}
}

func TestDetail(t *testing.T) {
	tests := []struct{ name, pattern, resource, want string }{
		{"a value", `{image: "!*:latest"}`, `{image: "a:latest"}`, `must match "!*:latest"`},
		{"what must be absent", `{X(hostPath): "null"}`, `{hostPath: {}}`, `must not be there`},
		{"what is missing", `{image: "?*"}`, `{}`, `is missing, must match "?*"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := compile(t, tt.pattern).Match(decode(t, tt.resource))
			if len(got.Failures) != 1 || got.Failures[0].Detail != tt.want {
				t.Errorf("%+v, want one failure that %s", got.Failures, tt.want)
			}
		})
	}
}

func TestOutcomeNames(t *testing.T) {
	for outcome, want := range map[pattern.Outcome]string{pattern.Pass: "pass", pattern.Skip: "skip", pattern.Fail: "fail"} {
		if got := outcome.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	_ = pattern.Outcome(99).String()
}

// No resource makes a pattern panic, whatever its types, and none is taken for
// an object.
func TestOddRoots(t *testing.T) {
	p := compile(t, `{a: {(b): "1"}, =(c): [{X(d): "null"}], ^(e): [{f: ">1"}], <(g): "1-2"}`)
	for _, root := range []any{nil, "", "text", int64(1), 1.5, true, []any{}, []any{map[string]any{}}, struct{}{}, map[string]string{"a": "b"}} {
		if got := p.Match(root); got.Outcome != pattern.Fail {
			t.Errorf("Match(%#v) = %v, want fail", root, got.Outcome)
		}
	}
	for _, odd := range []any{struct{}{}, []string{"x"}, map[int]string{}, int32(4), func() {}} {
		_ = p.Match(map[string]any{"a": odd, "c": odd, "e": odd, "g": odd})
	}
}

func TestDeepTrees(t *testing.T) {
	var deepPattern, deepResource any = "x", "u"
	for range 1000 {
		deepPattern = map[string]any{"a": []any{deepPattern}}
		deepResource = map[string]any{"a": []any{deepResource}}
	}
	p, errs := pattern.Compile(deepPattern, where())
	if len(errs) > 0 {
		return // A bound on the pattern's depth is an answer as well.
	}
	if got := p.Match(deepResource); got.Outcome != pattern.Fail || len(got.Failures) != 1 {
		t.Errorf("%v with %d failures, want one failure", got.Outcome, len(got.Failures))
	}
}

func TestConcurrentUse(t *testing.T) {
	p := compile(t, `{c: [{(name): "a*", image: "!*:latest"}]}`)
	resource := decode(t, `{c: [{name: a, image: "a:latest"}, {name: b, image: "b:latest"}]}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got := p.Match(resource); len(got.Failures) != 1 || got.Failures[0].Path != "c[0].image" {
					t.Errorf("%+v", got)
					return
				}
			}
		})
	}
	wg.Wait()
}
