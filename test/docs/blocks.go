// Package docs holds the documentation to what the program does: every policy in
// it loads, every command in it prints what stands there.
package docs

import (
	"fmt"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	file string
	// line of the opening fence.
	line int
	// language and the words behind it: "console", "norun needs a cluster".
	language, note string
	text           string
}

func (b block) name() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// blocksOf finds the fenced blocks of a page.
func blocksOf(file, page string) ([]block, error) {
	var blocks []block
	var open *block
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case !isFence && open != nil:
			open.text += line + "\n"
		case isFence && open != nil && fence == "":
			blocks = append(blocks, *open)
			open = nil
		case isFence && open != nil:
			return nil, fmt.Errorf("%s:%d: a block opens inside the one of line %d", file, i+1, open.line)
		case isFence:
			language, note, _ := strings.Cut(fence, " ")
			open = &block{file: file, line: i + 1, language: language, note: note}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block is not closed", file, open.line)
	}
	return blocks, nil
}

// EachBlock calls visit with each fenced block of a language on a page, and with the
// file and the line that it stands at.
func EachBlock(file, page, language string, visit func(where, text string)) error {
	all, err := blocksOf(file, page)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.language == language {
			visit(b.name(), b.text)
		}
	}
	return nil
}

// step is one command of a console block with what it prints.
type step struct{ command, output string }

// askStatus is the command that shows how the one before it ended. Without it, a
// command has to end with 0.
const askStatus = "echo $?"

// isCommand reports whether a line that begins with "$ " is a command: it has the
// program in it, or builds a module for it. What is printed may show others.
func isCommand(line string) bool {
	return line == askStatus || strings.Contains(line, "sallyport ") || strings.Contains(line, "go build ")
}

// stepsOf takes a console block apart.
func stepsOf(b block) ([]step, error) {
	var steps []step
	for line := range strings.Lines(b.text) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if ok && isCommand(command) {
			steps = append(steps, step{command: command})
			continue
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("%s: %q stands before any command of sallyport", b.name(), strings.TrimSpace(line))
		}
		steps[len(steps)-1].output += line
	}
	if len(steps) == 0 || steps[0].command == askStatus {
		return nil, fmt.Errorf("%s: no command of sallyport stands there", b.name())
	}
	return steps, nil
}

// ellipsis is a line that stands for any lines, or none.
const ellipsis = "..."

// matches reports whether output is what a page shows, where the page may leave
// lines out. Space at the end of lines and of the whole does not count.
func matches(shown, output string) bool {
	return matchLines(linesOf(shown), linesOf(output))
}

func linesOf(text string) []string {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(text, " \n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

func matchLines(shown, output []string) bool {
	for i, line := range shown {
		if line == ellipsis {
			for skip := 0; i+skip <= len(output); skip++ {
				if matchLines(shown[i+1:], output[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(output) || output[i] != line {
			return false
		}
	}
	return len(shown) == len(output)
}
