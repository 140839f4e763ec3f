package pattern_test

import "testing"

// scalar is a pattern of one key and the values that it accepts and refuses,
// all in YAML. Each value is a case of its own; absent stands for a key that is
// not there.
type scalar struct {
	name    string
	pattern string
	accepts []string
	refuses []string
}

const absent = "absent"

func runScalars(t *testing.T, scalars []scalar) {
	t.Helper()
	for _, s := range scalars {
		t.Run(s.name, func(t *testing.T) {
			p := compile(t, `{x: `+s.pattern+`}`)
			for _, value := range s.accepts {
				t.Run("accepts "+value, func(t *testing.T) {
					judge(t, p.Match(holding(t, value)), pass)
				})
			}
			for _, value := range s.refuses {
				t.Run("refuses "+value, func(t *testing.T) {
					resource := holding(t, value)
					want := at("x", resource["x"])
					want.missing = value == absent
					judge(t, p.Match(resource), fail(want))
				})
			}
		})
	}
}

func holding(t *testing.T, value string) map[string]any {
	t.Helper()
	if value == absent {
		return decode(t, `{u: 1}`)
	}
	return decode(t, `{x: `+value+`}`)
}

func TestPlainScalars(t *testing.T) {
	runScalars(t, []scalar{
		{"a string", `Always`, []string{`Always`}, []string{`always`, `Always1`, `" Always"`, `""`, `null`, `1`, `true`, `{}`, absent}},
		{"an integer", `5`, []string{`5`, `"5"`}, []string{`6`, `-5`, `5.5`, `"6"`, `"five"`, `""`, `null`, `true`, `{}`, absent}},
		{"zero", `0`, []string{`0`, `"0"`}, []string{`1`, `null`, `false`, `""`, absent}},
		{"a negative integer", `-5`, []string{`-5`, `"-5"`}, []string{`5`, absent}},
		{"a fraction", `1.5`, []string{`1.5`, `"1.5"`}, []string{`1`, `2`, `15`, `"15"`, `null`, absent}},
		{"an integer beyond a float's digits", `9007199254740993`, []string{`9007199254740993`, `"9007199254740993"`},
			[]string{`9007199254740992`, `9007199254740994`, `"9007199254740992"`}},
		{"true", `true`, []string{`true`, `"true"`}, []string{`false`, `"True"`, `"yes"`, `1`, `null`, `""`, absent}},
		{"false", `false`, []string{`false`, `"false"`}, []string{`true`, `"False"`, `"no"`, `0`, `null`, `""`, absent}},
		{"the string false", `"false"`, []string{`false`, `"false"`}, []string{`true`, `null`, `0`, absent}},
		{"the string true", `"true"`, []string{`true`, `"true"`}, []string{`false`, `1`, absent}},
		{"a number in a string", `"5"`, []string{`5`, `"5"`}, []string{`6`, `"55"`, `null`, absent}},
		{"blanks around an operand", `"  Always  "`, []string{`Always`, `"  Always  "`}, []string{`Never`, absent}},
		{"a string of another script", `"größe"`, []string{`"größe"`}, []string{`"grösse"`, `"GRÖSSE"`}},
		{"a string with a bracket or a dot", `"a.b[c]+"`, []string{`"a.b[c]+"`}, []string{`"aXb[c]+"`, `"a.bc"`}},
	})
}

func TestWildcards(t *testing.T) {
	runScalars(t, []scalar{
		{"a prefix", `"nginx*"`, []string{`nginx`, `"nginx:1"`}, []string{`anginx`, `Nginx`, `""`, `null`, absent}},
		{"a suffix", `"*.io"`, []string{`.io`, `corp.io`}, []string{`corp.io/a`, `corp.IO`, absent}},
		{"both ends", `"*x*"`, []string{`x`, `axb`, `xx`}, []string{`a`, `X`, `""`, absent}},
		{"in the middle", `"a*c"`, []string{`ac`, `abc`, `abcbc`, `a/b/c`}, []string{`ab`, `acd`, absent}},
		{"one character", `"a?c"`, []string{`abc`, `a-c`, `"aéc"`, `"a日c"`, `"a🚢c"`}, []string{`ac`, `abbc`, `"a日本c"`, absent}},
		{"a number of characters", `"???"`, []string{`abc`, `"日本語"`, `123`}, []string{`ab`, `abcd`, `"日本"`, `""`, absent}},
		{"at least two characters", `"??*"`, []string{`ab`, `abc`}, []string{`a`, `"日"`, `""`, absent}},
		{"a number as text", `"80*"`, []string{`80`, `8080`, `"8080"`}, []string{`9080`, `-80`, absent}},
		{"a fraction as text", `"1.?"`, []string{`1.5`}, []string{`1`, `2.5`, absent}},
		{"a bool as text", `"t*"`, []string{`true`, `"truth"`}, []string{`false`, absent}},
		{"wildcards in the value are characters", `"a"`, []string{`a`}, []string{`"*"`, `"?"`, `"a*"`}},
		{"many stars", `"*a*a*a*a*a*a*a*a*b"`, []string{`aaaaaaaab`}, []string{`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`}},
	})
}

func TestNegation(t *testing.T) {
	runScalars(t, []scalar{
		{"not latest", `"!*:latest"`, []string{`nginx`, `"nginx:1"`, `"nginx:latest@sha256:0123"`, `"nginx:LATEST"`, `"r.io:5000/nginx"`, `""`},
			[]string{`"nginx:latest"`, `"r.io:5000/nginx:latest"`, `":latest"`, `{}`, absent}},
		{"not a string", `"!default"`, []string{`prod`, `""`, `Default`, `defaults`, `5`, `true`}, []string{`default`, absent}},
		{"a blank after it", `"! default"`, []string{`prod`}, []string{`default`, absent}},
		{"not a number", `"!5"`, []string{`6`, `"6"`, `text`}, []string{`5`, `"5"`, absent}},
		{"not a quantity", `"!1Gi"`, []string{`1G`, `2Gi`}, []string{`1Gi`, `1024Mi`, `1073741824`, absent}},
		{"not a duration", `"!1m0s"`, []string{`59s`}, []string{`60s`, `1m`, absent}},
		{"not a bool", `"!true"`, []string{`false`, `"false"`}, []string{`true`, `"true"`, absent}},
		{"a dash between words", `"!nginx-alpine"`, []string{`nginx`, `alpine`, `nginx-alpine-2`}, []string{`nginx-alpine`, absent}},
		{"a dash before a word", `"!1-a"`, []string{`1`, `a`}, []string{`1-a`, absent}},
		{"no empty string", `"!?*"`, []string{`""`}, []string{`a`, `1`, absent}},
		{"none of two", `"!a* & !b*"`, []string{`c`, `""`}, []string{`a`, `bc`, absent}},
		{"one of two negations", `"!a | !b"`, []string{`a`, `b`, `c`}, []string{absent}},
		{"it binds closer than or", `"!a | b"`, []string{`b`, `c`}, []string{`a`, absent}},
		{"it binds closer than and", `"!ab & a*"`, []string{`a`, `abc`}, []string{`ab`, `b`, absent}},
	})
}

func TestAndOr(t *testing.T) {
	runScalars(t, []scalar{
		{"or", `"a | b|c"`, []string{`a`, `b`, `c`}, []string{`d`, `ab`, `""`, `null`, absent}},
		{"or of wildcards", `"eu.io/* | us.io/*"`, []string{`eu.io/a`, `us.io/b`}, []string{`as.io/a`, `x/eu.io/a`, absent}},
		{"and", `"a* & *z"`, []string{`az`, `abz`}, []string{`a`, `z`, `za`, absent}},
		{"or weighs less than and", `">=10Mi & <=1Gi | 5"`, []string{`10Mi`, `512Mi`, `1Gi`, `5`, `"5"`}, []string{`9Mi`, `2Gi`, `6`, `text`, `null`, absent}},
		{"or first, then and", `"x | >1 & <5 | u"`, []string{`x`, `u`, `2`}, []string{`1`, `5`, `z`, absent}},
		{"numbers or words", `"<5 | >10 | none"`, []string{`4`, `11`, `none`}, []string{`5`, `10`, `some`, absent}},
		{"ranges", `"1-5 | 10-15"`, []string{`1`, `5`, `12`}, []string{`0`, `7`, `16`, absent}},
		{"equal as it stands", `"a | b"`, []string{`"a | b"`}, []string{`"a | c"`}},
		{"a range equal as it stands", `"1-10"`, []string{`"1-10"`}, []string{`"1-11"`}},
		{"a number or a bool", `"0 | false"`, []string{`0`, `false`, `"0"`}, []string{`1`, `true`, `null`, absent}},
	})
}
