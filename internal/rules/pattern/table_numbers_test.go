package pattern_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/rules/pattern"
)

func TestComparisons(t *testing.T) {
	no := []string{`text`, `""`, `null`, `true`, `false`, `{}`, `{a: 6}`, absent}
	runScalars(t, []scalar{
		{"greater", `">10"`, []string{`11`, `"11"`, `10.5`, `1k`, `1Gi`}, append([]string{`10`, `9`, `-11`, `"10"`, `9.9`, `1m`}, no...)},
		{"less", `"<10"`, []string{`9`, `-100`, `9.99`, `"9"`, `0`, `500m`}, append([]string{`10`, `11`, `1k`}, no...)},
		{"at least", `">=10"`, []string{`10`, `11`, `"10"`, `10000m`}, append([]string{`9`, `9999m`}, no...)},
		{"at most", `"<=10"`, []string{`10`, `9`, `-1`, `"10"`}, append([]string{`11`, `10001m`}, no...)},
		{"less than something missing is not zero", `"<=0"`, []string{`0`, `-1`, `"0"`}, append([]string{`1`}, no...)},
		{"at least zero", `">=0"`, []string{`0`, `1`}, append([]string{`-1`}, no...)},
		{"at least less than zero", `">=-5"`, []string{`-5`, `0`, `5`}, append([]string{`-6`}, no...)},
		{"below zero", `"<-5"`, []string{`-6`}, append([]string{`-5`, `0`}, no...)},
		{"a fraction", `">0.5"`, []string{`1`, `0.6`, `501m`}, append([]string{`0.5`, `500m`, `0`}, no...)},
		{"a blank after the operator", `"> 10"`, []string{`11`}, append([]string{`10`}, no...)},
		{"between two", `">=1 & <=3"`, []string{`1`, `2`, `3`}, append([]string{`0`, `4`}, no...)},
		{"memory", `"<=1Gi"`, []string{`1Gi`, `1024Mi`, `1G`, `1000000`, `512Mi`}, append([]string{`1025Mi`, `2Gi`, `1Ti`, `1073741825`, `1gi`}, no...)},
		{"cpu", `"<=2"`, []string{`2`, `2000m`, `1500m`, `0.5`, `"1.5"`}, append([]string{`2001m`, `3`, `2.1`}, no...)},
		{"thousandths", `">=100m"`, []string{`100m`, `1`, `0.1`}, append([]string{`0.05`, `99m`}, no...)},
		{"more digits than 64 bits hold", `"<=100000000000000000000"`, []string{`"100000000000000000000"`, `1Ei`, `-100000000000000000001`}, []string{`"100000000000000000001"`, `1000Ei`, absent}},
		{"the smallest quantities", `">1u"`, []string{`2u`, `1001n`, `1m`}, []string{`1u`, `1n`, `999n`, `0`, absent}},
		{"powers of ten", `">=1e3"`, []string{`1k`, `1e3`, `"1E3"`, `1000`}, []string{`999`, `1e2`, absent}},
		{"more digits than a float holds", `">9007199254740992"`, []string{`9007199254740993`}, []string{`9007199254740992`, `9007199254740991`}},
	})
}

func TestQuantitiesAndDurations(t *testing.T) {
	runScalars(t, []scalar{
		{"memory", `1024Mi`, []string{`1024Mi`, `1Gi`, `1073741824`, `"1073741824"`}, []string{`1G`, `1023Mi`, `1024`, `1024mi`, absent}},
		{"one", `"1"`, []string{`1`, `1000m`, `"1"`}, []string{`1001m`, `10`, absent}},
		{"thousandths", `500m`, []string{`500m`, `0.5`, `"0.5"`}, []string{`5`, `50m`, absent}},
		{"a minute", `60s`, []string{`60s`, `1m`, `1m0s`, `60000ms`}, []string{`61s`, `60`, `1h`, `2m`, absent}},
		{"an hour", `1h`, []string{`60m`, `3600s`, `1h0m`, `0.5h30m`}, []string{`1`, `59m`, `1h1s`, absent}},
		{"minutes, or thousandths", `1m`, []string{`60s`, `0.001`, `1m`}, []string{`1`, `60`, `61s`}},
		{"at most a time", `"<=2400h"`, []string{`2160h`, `2400h`, `10m`, `1s`}, []string{`2401h`, `2400h1s`, `text`, `null`, absent}},
		{"more than a time", `">1m30s"`, []string{`91s`, `2m`, `1h`}, []string{`90s`, `1m30s`, `5s`, `""`, absent}},
		{"more than no time", `">0"`, []string{`1h`, `1ms`, `5`}, []string{`0s`, `0`, `-1h`, absent}},
		{"a time and a number are not comparable", `">1h"`, []string{`2h`}, []string{`5`, `5Gi`, `text`, absent}},
		{"no suffix of a quantity", `1GB`, []string{`1GB`}, []string{`1G`, `1Gi`, `1gb`}},
	})
}

func TestRanges(t *testing.T) {
	no := []string{`text`, `""`, `null`, `true`, `{}`, absent}
	runScalars(t, []scalar{
		{"numbers", `1-10`, []string{`1`, `5`, `10`, `"5"`, `9.5`, `1000m`}, append([]string{`0`, `11`, `-5`, `10.5`, `0.5`}, no...)},
		{"ports", `"1024-65535"`, []string{`1024`, `8080`, `65535`}, append([]string{`1023`, `65536`, `80`}, no...)},
		{"from below zero", `"-5-5"`, []string{`-5`, `0`, `5`}, append([]string{`-6`, `6`}, no...)},
		{"all below zero", `"-10--5"`, []string{`-10`, `-7`, `-5`}, append([]string{`-11`, `-4`, `7`, `0`}, no...)},
		{"fractions", `"0.5-1.5"`, []string{`0.5`, `1`, `1.5`, `700m`}, append([]string{`0.4`, `2`}, no...)},
		{"memory", `10Mi-1Gi`, []string{`10Mi`, `512Mi`, `1Gi`, `1024Mi`, `20M`}, append([]string{`9Mi`, `1025Mi`, `5`}, no...)},
		{"cpu", `100m-2`, []string{`100m`, `0.1`, `1`, `2`, `1500m`}, append([]string{`99m`, `2001m`, `3`}, no...)},
		{"times", `1m-1h`, []string{`1m`, `60s`, `30m`, `1h`}, append([]string{`59s`, `61m`, `2h`}, no...)},
		{"outside of numbers", `"1!-10"`, []string{`0`, `11`, `-1`, `10.5`, `"11"`}, append([]string{`1`, `5`, `10`, `"5"`}, no...)},
		{"outside of memory", `"10Mi!-1Gi"`, []string{`9Mi`, `2Gi`}, append([]string{`10Mi`, `1Gi`, `512Mi`, `1024Mi`}, no...)},
		{"outside of a range below zero", `"-10!--5"`, []string{`-11`, `-4`, `0`}, append([]string{`-10`, `-7`, `-5`}, no...)},
		{"outside of times", `"1m!-1h"`, []string{`59s`, `2h`}, append([]string{`1m`, `30m`, `60m`}, no...)},
		{"a range and a comparison", `"1-10 & !5"`, []string{`4`, `6`}, []string{`5`, `11`, absent}},
		{"a power below zero is a number", `"1E-3"`, []string{`0.001`, `1m`, `"1E-3"`}, []string{`1`, `2`, `1E`, absent}},
		{"one number", `5-5`, []string{`5`}, []string{`4`, `6`}},
		{"words with a dash are a word", `a-b`, []string{`a-b`}, []string{`a`, `b`, `ab`, `a-c`, absent}},
		{"an image with dashes", `nginx-1-alpine`, []string{`nginx-1-alpine`}, []string{`nginx-2-alpine`, absent}},
		{"a number and a word", `10-abc`, []string{`10-abc`}, []string{`10`, `50`, absent}},
		{"a word and a number", `abc-10`, []string{`abc-10`}, []string{`5`, `abc-5`, absent}},
		{"a word, not outside of it", `"a!-b"`, []string{`"a!-b"`}, []string{`c`, `a-b`, absent}},
		{"a day", `"2024-01-31"`, []string{`"2024-01-31"`}, []string{`"2024-02-01"`, `2024`, absent}},
		{"wildcards with dashes", `"web-*-1?"`, []string{`web-a-10`, `web--1b`}, []string{`web-a-1`, `web-10`, absent}},
	})
}

// Patterns and resources that are made in Go hold numbers that YAML does not
// give: floats without a fraction, and plain ints in a pattern.
func TestNumbersOfGo(t *testing.T) {
	tests := []struct {
		name           string
		pattern, value any
		want           pattern.Outcome
	}{
		{"int64 and float64", int64(5), 5.0, pattern.Pass},
		{"float64 and int64", 5.0, int64(5), pattern.Pass},
		{"float64 and a string", 5.0, "5", pattern.Pass},
		{"int and int64", int(5), int64(5), pattern.Pass},
		{"int and float64", int(5), 5.0, pattern.Pass},
		{"int and a string", int(5), "5", pattern.Pass},
		{"int and another", int(5), int64(6), pattern.Fail},
		{"float64 and a fraction", 5.0, 5.5, pattern.Fail},
		{"a comparison and a float64", ">4", 5.0, pattern.Pass},
		{"a great float64 as text", "1000000*", 1e7, pattern.Pass},
		{"a comparison and a great float64", ">1", 1e20, pattern.Pass},
		{"a comparison and a small float64", "<1", 1e-7, pattern.Pass},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, errs := pattern.Compile(map[string]any{"x": tt.pattern}, where())
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if got := p.Match(map[string]any{"x": tt.value}); got.Outcome != tt.want {
				t.Errorf("%v %+v, want %v", got.Outcome, got.Failures, tt.want)
			}
		})
	}
}
