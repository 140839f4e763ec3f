package pattern

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Compile compiles the pattern of validate.pattern, which stands at path. What
// cannot be understood, and what could never do what it seems to say, is refused;
// each error names the path, what stands there and what would be right.
func Compile(pattern any, path *field.Path) (*Pattern, field.ErrorList) {
	var c compiler
	root := c.compileRoot(pattern, path)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return &Pattern{alternatives: []node{root}, notes: c.notes}, nil
}

// CompileAny compiles the patterns of validate.anyPattern, which stand at path. At
// least one has to be there.
func CompileAny(patterns []any, path *field.Path) (*Pattern, field.ErrorList) {
	if len(patterns) == 0 {
		return nil, field.ErrorList{field.Required(path, "must hold at least one pattern")}
	}
	var c compiler
	p := &Pattern{}
	for i, pattern := range patterns {
		p.alternatives = append(p.alternatives, c.compileRoot(pattern, path.Index(i)))
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	p.notes = c.notes
	return p, nil
}

// compiler gathers what is wrong with a pattern.
type compiler struct {
	errs field.ErrorList
	// notes are what has less effect than it looks.
	notes []effect.Note
	// guards is above zero within the value of a condition or a global anchor.
	guards int
	// presence is set where "*" asks that something is there, whatever it is, and
	// not only for a scalar.
	presence bool
}

// place says where in a resource a map stands: the key that it is the value of,
// and the key of the map around it. Items of a list have neither.
type place struct{ outer, key string }

// hasFreeKeys reports whether the map's keys are labels or annotations.
func (p place) hasFreeKeys() bool {
	return p.outer == "metadata" && (p.key == "labels" || p.key == "annotations")
}

func (c *compiler) refuse(path *field.Path, value any, detail string) {
	c.errs = append(c.errs, field.Invalid(path, value, detail))
}

// compileRoot compiles what a whole resource is compared with.
func (c *compiler) compileRoot(pattern any, path *field.Path) node {
	if pattern == nil {
		c.errs = append(c.errs, field.Required(path, "must be a map of the fields that the resource is compared with"))
		return nil
	}
	return c.compile(pattern, path, place{})
}

// compile compiles one value of a pattern. It returns nil if it is refused.
func (c *compiler) compile(value any, path *field.Path, at place) node {
	switch v := value.(type) {
	case nil:
		c.errs = append(c.errs, effect.NullInPattern.Error(path, nil, insteadOfNull(none, "")))
		return nil
	case map[string]any:
		return c.compileMap(v, path, at)
	case []any:
		return c.compileList(v, path)
	case string:
		return c.compileString(v, path)
	case bool:
		return newLiteral(scalarText(v))
	}
	if number, ok := amountOf(value); ok {
		return newNumber(scalarText(value), number)
	}
	c.refuse(path, fmt.Sprint(value), fmt.Sprintf("must be a map, a list, a string, a number, true, false or null; it is a %T", value))
	return nil
}

func (c *compiler) compileString(text string, path *field.Path) node {
	c.noteVariables(text, path)
	if text == "*" && c.presence {
		return presentNode{}
	}
	n, err := parseExpression(text)
	if err != nil {
		c.refuse(path, text, err.Error())
		return nil
	}
	n.zeroIfMissing = c.guards > 0
	return n
}

func (c *compiler) compileMap(m map[string]any, path *field.Path, at place) node {
	n := &mapNode{fields: make([]fieldNode, 0, len(m)), guards: c.guards > 0}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		below := child(path, key)
		kind, name, err := parseKey(key)
		if err != nil {
			c.refuse(below, key, "the key is wrong: "+err.Error())
			continue
		}
		f := fieldNode{name: name, anchor: kind, turn: turnOf(kind, m[key]), wild: glob.IsPattern(name)}
		if f.wild && !at.hasFreeKeys() {
			c.refuse(below, key, "wildcards in a key have a meaning only directly under metadata.labels and metadata.annotations; name the field")
			continue
		}
		if err := nothingAsked(kind, name, m[key], below); err != nil {
			c.errs = append(c.errs, err)
			continue
		}
		c.note(kind, name, m[key], below, at)
		switch kind {
		case negation:
		case existence:
			f.value = c.compileExists(m[key], below)
		case condition, global:
			c.guards++
			c.presence = true
			f.value = c.compile(m[key], below, place{outer: at.key, key: name})
			c.guards--
		default:
			c.presence = kind == none || c.guards > 0
			f.value = c.compile(m[key], below, place{outer: at.key, key: name})
		}
		n.fields = append(n.fields, f)
	}
	slices.SortStableFunc(n.fields, func(a, b fieldNode) int { return cmp.Compare(a.turn, b.turn) })
	// Of those with anchors below, the engine that the language comes from begins
	// with the last by name: what fails before a global anchor is judged stands.
	first, _ := slices.BinarySearchFunc(n.fields, nested, fieldNode.compareTurn)
	end, _ := slices.BinarySearchFunc(n.fields, plain, fieldNode.compareTurn)
	slices.Reverse(n.fields[first:end])
	return n
}

func (f fieldNode) compareTurn(at turn) int { return cmp.Compare(f.turn, at) }

// turnOf is when a field with an anchor, and with this value, is judged.
func turnOf(kind anchor, value any) turn {
	switch {
	case kind == condition:
		return conditions
	case kind == global || kind == none && hasAnchors(value):
		return nested
	case kind == none:
		return plain
	}
	return anchored
}

// hasAnchors reports whether a value of a pattern has an anchor at any depth.
func hasAnchors(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if kind, _, err := parseKey(key); err == nil && kind != none || hasAnchors(below) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasAnchors)
	}
	return false
}

// compileList compiles a list that stands in a map.
func (c *compiler) compileList(items []any, path *field.Path) node {
	if len(items) == 0 {
		c.refuse(path, "[]", "an empty list asks nothing; write the element that every item has to match")
		return nil
	}
	_, first := items[0].(map[string]any)
	for i, item := range items[1:] {
		if _, isMap := item.(map[string]any); !isMap || !first {
			c.refuse(path.Index(i+1), textOf(item), severalElements(items))
			return nil
		}
	}
	n := &listNode{}
	for i, item := range items {
		n.elements = append(n.elements, c.compileItem(item, path.Index(i)))
	}
	return n
}

// severalElements says why a list of several elements that are not all maps is
// refused.
func severalElements(items []any) string {
	var texts []string
	for _, item := range items {
		switch item.(type) {
		case map[string]any, []any, nil:
			return "every element applies to every item, and no item can match these together; only maps can stand beside each other"
		}
		texts = append(texts, scalarText(item))
	}
	return fmt.Sprintf("every element applies to every item, and no item is all of these scalars; write one with |: %q", strings.Join(texts, " | "))
}

// compileItem compiles an element of a list. A list in a list goes by index.
func (c *compiler) compileItem(item any, path *field.Path) node {
	c.presence = c.guards > 0
	if m, ok := item.(map[string]any); ok && len(m) == 0 {
		c.errs = append(c.errs, effect.EmptyInPattern.Error(path, "{}"))
		return nil
	}
	list, ok := item.([]any)
	if !ok {
		return c.compile(item, path, place{})
	}
	if len(list) == 0 {
		c.refuse(path, "[]", "an empty list asks nothing; write what the items of the inner list have to match, one after the other")
		return nil
	}
	n := &indexedNode{}
	for i, element := range list {
		n.elements = append(n.elements, c.compileItem(element, path.Index(i)))
	}
	return n
}

// compileExists compiles the value of an existence anchor.
func (c *compiler) compileExists(value any, path *field.Path) node {
	const want = "the value of ^( ) is a list of maps, each of which has to match at least one item"
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		c.refuse(path, textOf(value), want)
		return nil
	}
	n := &existsNode{}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			c.refuse(path.Index(i), textOf(item), want)
			continue
		}
		if len(m) == 0 {
			c.errs = append(c.errs, effect.EmptyInPattern.Error(path.Index(i), "{}"))
		}
		n.elements = append(n.elements, c.compileMap(m, path.Index(i), place{}))
		n.texts = append(n.texts, textOf(item))
	}
	return n
}

// child is the path of a key, written as the paths of resources are.
func child(path *field.Path, key string) *field.Path {
	if needsBrackets(key) {
		return path.Key(key)
	}
	return path.Child(key)
}

// longestText is how much of a pattern is quoted in a message.
const longestText = 200

// textOf writes a part of a pattern as JSON, cut to what can be read.
func textOf(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprintf("a %T", value)
	}
	text := strings.TrimSpace(b.String())
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "") + "..."
	}
	return text
}
