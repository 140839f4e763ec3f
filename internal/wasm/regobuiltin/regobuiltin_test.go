package regobuiltin

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

var now = time.Date(2031, 2, 3, 4, 5, 6, 7, time.UTC)

func evaluation(t testing.TB, lines *[]string) *Evaluation {
	t.Helper()
	e := New(context.Background(), now, func(line string) {
		if lines != nil {
			*lines = append(*lines, line)
		}
	})
	t.Cleanup(e.Close)
	return e
}

func arguments(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// TestOffered: every function that is offered is there, and whatever the library
// has beside them was looked at.
func TestOffered(t *testing.T) {
	for _, name := range Names() {
		if ast.BuiltinMap[name] == nil {
			t.Errorf("%s is none of Rego", name)
		} else if topdown.GetBuiltin(name) == nil && name != "trace" && name != "internal.print" {
			t.Errorf("%s is not in the library", name)
		}
		if Known(name) != nil {
			t.Errorf("%s is listed and not known: %v", name, Known(name))
		}
	}
	for _, name := range []string{"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "uuid.rfc4122"} {
		if err := Known(name); err == nil || !strings.Contains(err.Error(), "is closed to policies") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"io.jwt.decode": "is not offered", "no.such": "is none of Rego", strings.Repeat("x", 200): "more than 100 bytes",
	} {
		if err := Known(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v", name, err)
		}
	}
}

func TestCall(t *testing.T) {
	cases := []struct {
		name      string
		arguments [][]byte
		want      string
	}{
		{"sprintf", arguments(`"%s has %d of %v"`, `["web",3,{"a","b"}]`), `"web has 3 of {\"a\", \"b\"}"`},
		{"sprintf", arguments(`"%5.1f%%"`, `[12.34]`), `" 12.3%"`},
		{"time.now_ns", nil, "1927857906000000007"},
		{"time.format", arguments(`0`), `"1970-01-01T00:00:00Z"`},
		{"json.patch", arguments(`{"a":1}`, `[{"op":"add","path":"/b","value":2}]`), `{"a":1,"b":2}`},
		{"yaml.unmarshal", arguments(`"a: [1, x]"`), `{"a":[1,"x"]}`},
		{"units.parse_bytes", arguments(`"2Ki"`), `2048`},
		{"units.parse", arguments(`"100m"`), `0.1000000000`},
		{"units.parse", arguments(`"ten"`), ``},
		{"regex.replace", arguments(`"aXbX"`, `"X"`, `"-"`), `"a-b-"`},
		{"semver.compare", arguments(`"1.2.3"`, `"1.10.0"`), `-1`},
		{"hex.encode", arguments(`"hi"`), `"6869"`},
		{"crypto.sha256", arguments(`"x"`), `"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`},
		{"net.cidr_expand", arguments(`"10.0.0.0/31"`), `{"10.0.0.0","10.0.0.1"}`},
		{"strings.any_prefix_match", arguments(`{"ghcr.io/x"}`, `["docker.io/","ghcr.io/"]`), `true`},
		{"object.subset", arguments(`{1: 2, [3]: set()}`, `{[3]: set()}`), `true`},
		{"trace", arguments(`"a line"`), `true`},
		{"internal.print", arguments(`[{"x"}, set(), {[1]}]`), `true`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			got, err := evaluation(t, &lines).Call(c.name, c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			switch c.name {
			case "trace":
				if diff := cmp.Diff([]string{"a line"}, lines); diff != "" {
					t.Error(diff)
				}
			case "internal.print":
				if diff := cmp.Diff([]string{"x <undefined> [1]"}, lines); diff != "" {
					t.Error(diff)
				}
			}
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestBounds: what would take memory or time that has nothing to do with what is
// given ends the evaluation.
func TestBounds(t *testing.T) {
	long := `"` + strings.Repeat("a", 100_000) + `"`
	doubling := `[` + strings.Repeat(`{"op":"copy","from":"/a","path":"/a/b"},{"op":"copy","from":"/a","path":"/a/c"},`, 40) + `{"op":"add","path":"/z","value":0}]`
	cases := map[string]struct {
		name      string
		arguments [][]byte
		want      string
	}{
		"a wide format":            {"sprintf", arguments(`"%1000000d"`, `[1]`), "a width of more than 1000"},
		"a precise format":         {"sprintf", arguments(`"%.9999f"`, `[1.5]`), "a width of more than 1000"},
		"a width from arguments":   {"sprintf", arguments(`"%*d"`, `[1000000, 1]`), "a width that is an argument"},
		"one argument many times":  {"sprintf", arguments(`"`+strings.Repeat("%[1]s", 1000)+`"`, `[`+long+`]`), "more than 16777216 bytes"},
		"a long range":             {"numbers.range", arguments(`1`, `1e12`), "is not accepted"},
		"a long range of integers": {"numbers.range", arguments(`1`, `1000000000`), "more than the 65536"},
		"a range of fractions":     {"numbers.range", arguments(`1`, `1000000.0`), "is not accepted"},
		"a range over a range":     {"numbers.range", arguments(`-9000000000000000000`, `9000000000000000000`), "is not accepted"},
		"a large network":          {"net.cidr_expand", arguments(`"10.0.0.0/8"`), "more than the 65536 addresses"},
		"a network of IPv6":        {"net.cidr_expand", arguments(`"fd00::/64"`), "more than the 65536 addresses"},
		"a replacement":            {"replace", arguments(long, `"a"`, long), "more than 16777216 bytes"},
		"several replacements":     {"strings.replace_n", arguments(`{"a":`+long+`}`, long), "more than 16777216 bytes"},
		"a pattern's replacement":  {"regex.replace", arguments(long, `"a*"`, `"`+strings.Repeat("$0", 1000)+`"`), "more than 16777216 bytes"},
		"many groups":              {"regex.find_all_string_submatch_n", arguments(`"`+strings.Repeat("()", 900)+`"`, long, `-1`), "more than 16777216 bytes"},
		"an indentation":           {"json.marshal_with_options", arguments(`[1]`, `{"pretty":true,"indent":`+long+`}`), "more than the 32"},
		"a shift":                  {"bits.lsh", arguments(`1`, `1000000000`), "more than the 4096"},
		"an exponent":              {"units.parse", arguments(`"1e1000000000"`), "larger than is accepted"},
		"a number":                 {"format_int", arguments(`1e1000000000`, `10`), "at most 400 is accepted"},
		"copies of copies":         {"json.patch", arguments(`{"a":{"x":1}}`, doubling), "more than 16777216 bytes"},
		"much":                     {"hex.encode", arguments(`"` + strings.Repeat("a", MaxArguments) + `"`), "at most 1048576 are accepted"},
		"deep":                     {"json.marshal", arguments(strings.Repeat("[", 2000)), "nested deeper than 1000"},
		"too few":                  {"sprintf", arguments(`"x"`), "takes 2 arguments and got 1"},
		"a call":                   {"json.marshal", arguments(`http.send({})`), "is not a value"},
		"a variable":               {"json.marshal", arguments(`[x]`), "is not a value"},
		"the network":              {"http.send", arguments(`{"url":"http://127.0.0.1"}`), "closed to policies"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got, err := evaluation(t, nil).Call(c.name, c.arguments)
			if err == nil {
				t.Fatalf("got %.100s", got)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		`null`: `null`, ` [ 1 , -2.5e3 , true ] `: `[1,-2.5e3,true]`, `{}`: `{}`, `set()`: `set()`, `{ 1 , "a" , 1 }`: `{1,"a"}`,
		`{{1}: {"x": set()}}`: `{{1}:{"x":set()}}`, `"\u00e9\n"`: `"é\n"`,
	} {
		term, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := write(term); err != nil || string(got) != want {
			t.Errorf("%s came to %s, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `[`, `[1`, `[1 2]`, `{1:}`, `{1:2`, `{1:2,3}`, `{1,2:3}`, `{,}`, `"a`, `"\`, `01`, `1.`, `nul`, `set(`, `[]x`, "[]\x00", `-`, `{"a":1,}`, `[1,]`} {
		if term, err := parse([]byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, term)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{`{"a":[1,{2},set(),{}]}`, `{{1}: 2e3}`, `"\ud800"`, `[[[[`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		term, err := parse([]byte(text))
		if err != nil {
			return
		}
		first, err := write(term)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", text, err)
		}
		again, err := parse(first)
		if err != nil {
			t.Fatalf("%s was written and cannot be read: %v", first, err)
		}
		if term.Value.Compare(again.Value) != 0 {
			t.Fatalf("%s became %s", term, again)
		}
	})
}

func FuzzCall(f *testing.F) {
	f.Add("sprintf", `"%d"`, `[1]`)
	f.Add("glob.match", `"*"`, `["."]`)
	f.Add("json.patch", `{}`, `[{"op":"add","path":"/a","value":1}]`)
	f.Fuzz(func(t *testing.T, name, first, second string) {
		e := evaluation(t, nil)
		for _, all := range [][][]byte{arguments(first), arguments(first, second)} {
			if result, err := e.Call(name, all); err == nil && result != nil {
				if _, err := parse(result); err != nil {
					t.Fatalf("%s answers %s, which cannot be read: %v", name, result, err)
				}
			}
		}
	})
}
