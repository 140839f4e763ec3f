package expression

import "testing"

// TestLiteral tells what holds, or not, whatever the request is from all else.
func TestLiteral(t *testing.T) {
	for text, want := range map[string][2]bool{
		"true": {true, true}, " ( true )\n": {true, true}, "!false": {true, true}, "false": {false, true}, "(!true)": {false, true},
		"": {}, "request.dryRun": {}, "true && request.dryRun": {}, "(true) || (false)": {}, "truer": {},
	} {
		if value, ok := Literal(text); value != want[0] || ok != want[1] {
			t.Errorf("%q: %v, %v", text, value, ok)
		}
	}
	if !(*Conditions)(nil).AskNothing() || new(Conditions).AskNothing() {
		t.Error("none ask something, or what is not known asks nothing")
	}
	(*Conditions)(nil).Literals(func(string, bool) { t.Error("none has a literal") })
}
