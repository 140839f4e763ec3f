package wasm

import (
	"context"
	"strings"
	"testing"
)

// store writes a byte at an address of the data.
func store(at int32, value byte) []byte { return code(i32(dataAt+at), i32(int32(value)), 0x3a, 0, 0) }

const saysDots = `{"accepted":true,"message":"...."}`

// messageAt is where the message of saysDots begins.
var messageAt = int32(strings.Index(saysDots, "...."))

// validated evaluates a module twice and gives the messages.
func validated(t *testing.T, m *Module) string {
	t.Helper()
	var said []string
	for range 2 {
		r, err := m.Evaluator(EvaluatorOptions{}).Validate(context.Background(), pod, nil)
		if err != nil || !r.Accepted {
			t.Fatalf("%+v, %v", r, err)
		}
		said = append(said, r.Message)
	}
	return strings.Join(said, " ")
}

// TestShapes runs modules of the shapes that the compilers of the ecosystem make.
func TestShapes(t *testing.T) {
	t.Parallel()
	plain := func(before ...[]byte) assembly {
		all := []byte{}
		for _, b := range before {
			all = append(all, b...)
		}
		return answering(saysDots, all)
	}
	with := func(a assembly, functions ...function) assembly {
		a.function = append(a.function, functions...)
		return a
	}
	exits := func(status int32, before ...[]byte) assembly {
		a := plain()
		a.imports = append([]string{"wasi_snapshot_preview1.proc_exit"}, a.imports...)
		a.function[0].body = code(i32(dataAt), i32(int32(len(saysDots))), call(1), i32(1))
		body := []byte{}
		for _, b := range before {
			body = append(body, b...)
		}
		return with(a, function{export: exportStart, body: code(body, i32(status), call(0), 0)})
	}
	started := with(plain(), function{body: store(messageAt, 'g')})
	started.start = 2
	multi := plain(code(0x02, 2, i32(1), i32(2), opEnd, 0x1a, 0x1a)) // a block with two results
	multi.types = [][]byte{code(0x60, 0, repeated(typeI32, 2))}
	indirect := with(answering(saysDots, code(0x20, 0, 0x0d, 0)), function{}) // br_if out, while called with operands
	indirect.function = append([]function{{body: store(messageAt, 'i')}}, indirect.function[:1]...)
	indirect.table, indirect.element = true, true
	indirect.function[1].body = code(i32(0), 0x11, 1, 0x80, 0x80, 0x80, 0x80, 0, i32(dataAt), i32(int32(len(saysDots))), call(0), i32(1))
	passive := waPC(code(i32(dataAt), i32(0), i32(int32(len(saysDots))), 0xfc, 8, 0, 0, i32(dataAt), i32(int32(len(saysDots))), call(0), i32(1)))
	passive.data, passive.passive = saysDots, true
	dropped := passive
	dropped.function = []function{{export: exportGuestCall, parameters: 2, results: 1, body: code(passive.function[0].body[:len(passive.function[0].body)-2], 0xfc, 9, 0, i32(1))}}
	rust := plain()
	rust.constant = []string{"__data_end", "__heap_base"}
	rust.globals = 1
	for name, c := range map[string]struct {
		module assembly
		said   string
		reused bool
	}{
		"nothing to begin with":      {plain(), ".... ....", true},
		"wapc_init":                  {with(plain(), function{export: "wapc_init", body: store(messageAt, 'w')}), "w... w...", true},
		"all three, in order":        {with(plain(), function{export: "wapc_init", body: store(messageAt, 'w')}, function{export: "_initialize", body: code(store(messageAt, 'x'), store(messageAt+1, 'i'))}, function{export: exportStart, body: code(store(messageAt+1, 'x'), store(messageAt+2, 's'))}), "wis. wis.", true},
		"_start that exits well":     {exits(0, store(messageAt, 't')), "t... t...", true},
		"a start section":            {started, "g... g...", true},
		"what a call leaves":         {plain(code(i32(dataAt+messageAt), i32(dataAt+messageAt), 0x2d, 0, 0, i32(1), 0x6a, 0x3a, 0, 0)), "/... /...", true},
		"globals of Rust":            {rust, ".... ....", true},
		"sign extension":             {plain(code(i32(0x80), 0xc0, 0x1a, i32(1), 0xc1, 0x1a)), ".... ....", true},
		"saturating conversions":     {plain(code(0x43, 0, 0, 0, 0, 0xfc, 0, 0x1a)), ".... ....", true},
		"memory.fill":                {plain(code(i32(dataAt+messageAt), i32('f'), i32(4), 0xfc, 11, 0)), "ffff ffff", true},
		"memory.copy":                {plain(code(i32(dataAt+messageAt), i32(dataAt+2), i32(4), 0xfc, 10, 0, 0)), "acce acce", true},
		"memory.init":                {passive, ".... ....", true},
		"data.drop":                  {dropped, ".... ....", false},
		"vectors":                    {plain(code(0xfd, 12, []byte(strings.Repeat("a", 16)), 0xfd, 21, 0, 0xfd, 15, 0x1a)), ".... ....", true},
		"references":                 {plain(code(0xd0, 0x70, 0x1a)), ".... ....", true},
		"several results":            {multi, ".... ....", true},
		"a long number of its table": {indirect, "i... i...", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := c.module.bytes()
			m := compile(t, newEngine(t, Limits{}), module)
			if said := validated(t, m); said != c.said {
				t.Errorf("it said %q, want %q", said, c.said)
			}
			if reused, why := m.Reused(); reused != c.reused {
				t.Errorf("reused %v, because %s", reused, why)
			}
		})
	}
	t.Run("_start that exits badly", func(t *testing.T) {
		t.Parallel()
		_, err := newEngine(t, Limits{}).Compile(context.Background(), exits(7).bytes(), CompileOptions{})
		if err == nil || !strings.Contains(err.Error(), "exit code 7") {
			t.Errorf("%v", err)
		}
	})
}

// TestAbort has a module give up as AssemblyScript does.
func TestAbort(t *testing.T) {
	t.Parallel()
	utf16 := func(s string) string {
		length := byte(2 * len(s))
		text := string([]byte{length, 0, 0, 0})
		for _, c := range s {
			text += string([]byte{byte(c), 0})
		}
		return text
	}
	message, file := utf16("no object"), utf16("assembly/index.ts")
	for name, c := range map[string]struct {
		message, file int32
		want          string
	}{
		"with words":      {dataAt + 4, dataAt + int32(len(message)) + 4, "the module gave up: no object, at assembly/index.ts:7:3"},
		"without":         {0, 0, "the module gave up: , at :7:3"},
		"beyond its end":  {-4, -8, "the module gave up: , at :7:3"},
		"a length of all": {dataAt + 6, 2, "the module gave up: "},
	} {
		a := waPC(code(i32(c.message), i32(c.file), i32(7), i32(3), call(1), 0))
		a.imports, a.data = append(a.imports, "env.abort"), message+file
		_, err := compile(t, newEngine(t, Limits{}), a.bytes()).Evaluator(EvaluatorOptions{}).Validate(context.Background(), pod, nil)
		if failed := wantReason(t, err, ReasonTrap); !strings.Contains(failed.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJavy has a command call its host as JavaScript does.
func TestJavy(t *testing.T) {
	t.Parallel()
	names := "kubewarden" + "kubernetes" + "get_resource"
	arguments := code(i32(dataAt), i32(10), i32(dataAt+10), i32(10), i32(dataAt+20), i32(12), i32(dataAt), i32(0), call(0), 0x1a)
	for _, module := range []string{moduleHost, moduleJavy} {
		a := assembly{imports: []string{module + ".call"}, data: names, function: []function{{export: exportStart, body: arguments}}}
		var asked Call
		p := compile(t, newEngine(t, Limits{}), a.bytes()).Evaluator(EvaluatorOptions{HostCall: func(_ context.Context, c Call) ([]byte, error) {
			asked = c
			return nil, nil
		}})
		_, err := p.Validate(context.Background(), pod, nil)
		wantReason(t, err, ReasonAnswer)
		if asked.String() != "kubewarden/kubernetes/get_resource" {
			t.Errorf("%s: asked %q", module, asked)
		}
	}
}
