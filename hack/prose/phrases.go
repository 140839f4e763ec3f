package main

import (
	"regexp"
	"slices"
	"strings"
)

// phrase is a way to say something that has a plainer one.
type phrase struct {
	// what matches it. A space stands for any gap between words, the end of a line with
	// the comment sign of the next among them.
	what string
	// unless matches what was found where it is something else after all; empty for
	// never.
	unless string
	// write says what is plainer.
	write string
}

var phrases = compile([]phrase{
	{
		what:   `(?:there )?(?:(?:can|may|must|should|will|would|need|has|have|had|to) )?(?:is|are|was|were|be|been) no \w+`,
		unless: `^there | no (?:longer|more|less|fewer|one|larger|smaller|further|later|older|newer|better|worse)$`,
		write:  `write "is not a" or "are not"`,
	},
	{
		what:   `\w+ alone(?:[.,;:!?|")` + "`" + `*]| \||\n)`,
		unless: `^(?:stand|stands|stood|standing|left|leave|leaves|leaving|let|be|is|are|was|if) `,
		write:  `write "only" before what it is about`,
	},
	{what: `(?:those|they|who|which) alone\b`, write: `write "only" before what it is about`},
	{what: `for ever\b`, write: `write "forever"`},
	{what: `\w+ anew\b`, write: `write "again"`},
	{
		what:   `(?:(?:is|are|was|were|be) not|(?:at most|more than) [^.;"\n]{1,40} (?:is|are)) taken(?: \w+)?`,
		unless: ` taken (?:as|away|back|down|for|from|in|off|out|over|to|up)$`,
		write:  `write "accepted"`,
	},
	{what: `cannot be told(?: \w+)?`, unless: ` (?:apart|from)$`, write: `write "is not known"`},
	{what: `(?:small|capital) letters?\b`, write: `write "lower case" or "upper case"`},
	{what: `(?:no|some|any|every)body (?:that|which)\b`, write: `write "who" or "whom"`},
	{what: `nobody to anything\b`, write: `write "no one"`},
	{what: `but for\b`, write: `write "except for"`},
	{what: `in the place of\b`, write: `write "in place of" or "instead of"`},
	{what: `for want of\b`, write: `write "for lack of" or "because there is no"`},
	{what: `(?:can|cannot|could|could not) be (?:had|got)\b`, write: `write what is meant: fetched, read, obtained`},
})

// exception is a text that is not ours to word.
type exception struct {
	// path is a file, or a folder with a slash at its end.
	path string
	// part of the line that the phrase begins in; empty for every line.
	part   string
	reason string
}

var exceptions = []exception{
	{path: "config/crd/", reason: "generated from the comments of api/, which are checked, and of Kubernetes"},
	{path: "docs/reference.md", reason: "generated from config/crd"},
	{path: "charts/sallyport/files/", reason: "copies of config/, which is checked where people write it"},
	{path: "hack/prose/", reason: "names the phrases"},
}

type compiled struct {
	what, unless *regexp.Regexp
	write        string
}

// gap is what stands between two words of a phrase.
const gap = `(?:[ \t]+|[ \t]*\r?\n[ \t]*(?://|#|>)?[ \t]*)`

func compile(all []phrase) []compiled {
	out := make([]compiled, len(all))
	for i, p := range all {
		out[i] = compiled{what: regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(p.what, " ", gap)), write: p.write}
		if p.unless != "" {
			out[i].unless = regexp.MustCompile(`(?i)` + p.unless)
		}
	}
	return out
}

// finding is a phrase in a text: the line that it begins in, from 1, what was found, on
// one line, and what to write.
type finding struct {
	line         int
	found, write string
}

var gaps = regexp.MustCompile(gap)

// find gives the phrases in the text of the file at path, in the order of phrases.
func find(path, text string) []finding {
	var found []finding
	for _, p := range phrases {
		for _, at := range p.what.FindAllStringIndex(text, -1) {
			words := strings.TrimSpace(gaps.ReplaceAllString(text[at[0]:at[1]], " "))
			if p.unless != nil && p.unless.MatchString(words) || isException(path, lineAt(text, at[0])) {
				continue
			}
			found = append(found, finding{line: 1 + strings.Count(text[:at[0]], "\n"), found: words, write: p.write})
		}
	}
	return found
}

func isException(path, line string) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool {
		whole := e.path == path || strings.HasSuffix(e.path, "/") && strings.HasPrefix(path, e.path)
		return whole && strings.Contains(line, e.part)
	})
}

// lineAt is the line of the text that the byte at stands in.
func lineAt(text string, at int) string {
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	return line
}
