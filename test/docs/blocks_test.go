package docs

import "testing"

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		name, shown, output string
		want                bool
	}{
		{"the same", "a\nb\n", "a\nb\n", true},
		{"space at the end", "a\nb", "a  \nb\n\n", true},
		{"another line", "a\nb", "a\nc", false},
		{"a line too few", "a", "a\nb", false},
		{"a line too many", "a\nb", "a", false},
		{"lines left out", "a\n...\nd", "a\nb\nc\nd", true},
		{"nothing left out", "a\n...\nd", "a\nd", true},
		{"the end left out", "a\n...", "a\nb", true},
		{"the end is another", "a\n...\nd", "a\nb\nd\ne", false},
		{"left out twice", "...\nb\n...\nb\nc", "b\na\nb\nb\nc", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches(tt.shown, tt.output); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBlocksThatAreWrong(t *testing.T) {
	for name, page := range map[string]string{
		"not closed": "```yaml\na: b\n",
		"nested":     "```yaml\n```console\n```\n",
	} {
		if _, err := blocksOf("p", page); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, text := range map[string]string{
		"empty":             "",
		"no command":        "$ kubectl get pods\n",
		"status of nothing": "$ echo $?\n0\n",
	} {
		if _, err := stepsOf(block{text: text}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
