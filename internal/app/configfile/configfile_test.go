package configfile

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

const head = "apiVersion: config.sallyport.io/v1alpha1\nkind: ServerConfiguration\n"

type settings struct {
	text, file string
	on         bool
	time       time.Duration
	count      int
	one, list  []string
}

func newFlags() (*pflag.FlagSet, *settings) {
	s, flags := &settings{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.StringVar(&s.text, "log-level", "info", "")
	flags.StringVar(&s.file, "client-ca-file", "", "")
	flags.BoolVar(&s.on, "insecure-http", false, "")
	flags.DurationVar(&s.time, "max-staleness", time.Minute, "")
	flags.IntVar(&s.count, "max-sessions", 5, "")
	flags.StringArrayVar(&s.one, "from", []string{"default"}, "")
	flags.StringSliceVar(&s.list, "doors", nil, "")
	flags.String("config", "", "")
	return flags, s
}

// TestApply sets each sort of flag, leaves what the command line says, and values as they are
// written.
func TestApply(t *testing.T) {
	flags, s := newFlags()
	if err := flags.Parse([]string{"--max-sessions=9", "--doors=access"}); err != nil {
		t.Fatal(err)
	}
	err := Apply(flags, "c.yaml", []byte(head+`
logLevel: debug
clientCAFile: /a b
insecureHTTP: true
maxStaleness: 1m30s
maxSessions: 7
from: ["a,b", c]
doors: [admission]
`), "config")
	if err != nil {
		t.Fatal(err)
	}
	if s.text != "debug" || s.file != "/a b" || !s.on || s.time != 90*time.Second || s.count != 9 || !slices.Equal(s.one, []string{"a,b", "c"}) || !slices.Equal(s.list, []string{"access"}) {
		t.Errorf("%+v", s)
	}
	if !flags.Changed("from") || flags.Changed("config") {
		t.Error("whether a flag was given is another than what was")
	}
}

// TestProblems says all that is wrong, and sets nothing.
func TestProblems(t *testing.T) {
	for content, wants := range map[string][]string{
		"":                                {"apiVersion: Unsupported value", "kind: Unsupported value"},
		"- a":                             {"is not an object of the kind ServerConfiguration"},
		"a: [":                            {"cannot be read"},
		head + "logLevel: a\nlogLevel: b": {`key "logLevel" already set`},
		"apiVersion: v1\nkind: ServerConfiguration\n": {`apiVersion: Unsupported value: "v1": supported values: "config.sallyport.io/v1alpha1"`},
		head + "loglevel: a":                          {"loglevel: Invalid value", "did you mean logLevel?"},
		head + "log-level: a":                         {"did you mean logLevel?"},
		head + "nothing: a":                           {"nothing: Invalid value", "there is no such field"},
		head + "config: a":                            {"config: Invalid value"},
		head + "logLevel: 1\nmaxStaleness: 60":        {"logLevel: Invalid value: 1: a text is expected", "maxStaleness: Invalid value: 60: a length of time is expected, as a text such as 30s"},
		head + "maxStaleness: soon":                   {`maxStaleness: Invalid value: "soon": a length of time is expected, such as 30s`},
		head + "maxSessions: 1.5":                     {"maxSessions: Invalid value", "a whole number is expected"},
		head + "maxSessions: \"1\"":                   {"a whole number is expected"},
		head + "insecureHTTP: \"true\"":               {"insecureHTTP: Invalid value: \"true\": true or false is expected"},
		head + "doors: admission":                     {"doors: Invalid value: \"admission\": a list of texts is expected"},
		head + "from: [a, 1]":                         {"from[1]: Invalid value: 1: a text is expected"},
		head + "logLevel: null":                       {"logLevel: Invalid value"},
	} {
		flags, s := newFlags()
		before := *s
		err := Apply(flags, "c.yaml", []byte(content), "config")
		var wrong *usage.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", content, err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "c.yaml") {
				t.Errorf("%q: %v, want %q", content, err, want)
			}
		}
		if s.text != before.text || s.time != before.time || s.count != before.count || s.on || len(s.one) != 1 {
			t.Errorf("%q: %+v was set", content, s)
		}
	}
}
