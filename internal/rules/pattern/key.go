package pattern

import (
	"fmt"
	"strings"
)

// anchor is what a key's brackets, and the sign before them, ask.
type anchor uint8

const (
	// condition, (k): if the key is missing or does not match, its map is not judged.
	condition anchor = iota
	// negation, X(k): the key must not be there.
	negation
	// equality, =(k): the value must match if the key is there.
	equality
	// existence, ^(k): each map of the value must match at least one item.
	existence
	// global, <(k): if the key is there and does not match, the list item that it
	// stands in is not judged, or else the whole resource.
	global
	// none: the key must be there, and match.
	none
)

var anchors = map[string]anchor{
	"": condition, "<": global, "=": equality, "X": negation, "^": existence,
}

// FieldOf is the name of the field that a pattern's key is about, without its anchor;
// empty where the key is wrong.
func FieldOf(key string) string {
	_, name, err := parseKey(key)
	if err != nil {
		return ""
	}
	return name
}

const keyForms = `a key is a field's name k, or one of (k), =(k), X(k), ^(k) and <(k)`

// parseKey takes a pattern's key apart. The error completes the sentence "the key
// is wrong: ".
func parseKey(key string) (anchor, string, error) {
	if strings.TrimSpace(key) == "" {
		return none, "", fmt.Errorf("it is empty: %s", keyForms)
	}
	before, rest, opens := strings.Cut(key, "(")
	if !opens {
		if strings.Contains(key, ")") {
			return none, "", fmt.Errorf("the bracket is closed and never opened: %s", keyForms)
		}
		return none, key, nil
	}
	name, closes := strings.CutSuffix(rest, ")")
	kind, known := anchors[before]
	switch {
	case !closes:
		return none, "", fmt.Errorf("the bracket is opened and not closed at the end: %s", keyForms)
	case strings.ContainsAny(name, "()"):
		return none, "", fmt.Errorf("there is more than one pair of brackets: %s", keyForms)
	case before == "+":
		return none, "", fmt.Errorf("the anchor +( ) adds a field when an object is changed, and a rule that validates changes nothing: %s", keyForms)
	case !known:
		return none, "", fmt.Errorf("there is no anchor %q: %s", before, keyForms)
	case strings.TrimSpace(name) == "":
		return none, "", fmt.Errorf("nothing stands in the brackets: %s", keyForms)
	}
	return kind, name, nil
}
