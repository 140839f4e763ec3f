package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// about is everything that is known of a field: whether it is required, what it
// means, and what its value is held to.
func (s *schema) about(required bool) string {
	var parts []string
	if required {
		parts = append(parts, "*required.*")
	}
	if s.Description != "" {
		parts = append(parts, sentence(s.Description))
	}
	parts = append(parts, s.bounds()...)
	if s.Items != nil {
		parts = append(parts, s.Items.bounds()...)
	}
	if s.Values != nil {
		parts = append(parts, s.Values.bounds()...)
	}
	return strings.Join(parts, " ")
}

// bounds are what a value is held to, a sentence each.
func (s *schema) bounds() []string {
	var parts []string
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = "`" + fmt.Sprint(v) + "`"
			if v == "" {
				values[i] = "`\"\"`"
			}
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	parts = append(parts, between(s.Minimum, s.Maximum, "From %s to %s.", "At least %s.", "At most %s.")...)
	parts = append(parts, between(s.MinItems, s.MaxItems, "%s to %s entries.", "Entries: at least %s.", "Entries: at most %s.")...)
	parts = append(parts, between(s.MinLength, s.MaxLength, "%s to %s characters.", "Not empty.", "At most %s characters.")...)
	if s.Pattern != "" {
		parts = append(parts, "Matches `"+s.Pattern+"`.")
	}
	if len(s.Default) > 0 {
		var value any
		text := string(s.Default)
		if json.Unmarshal(s.Default, &value) == nil {
			if word, ok := value.(string); ok {
				text = word
			}
		}
		parts = append(parts, "Not given: `"+text+"`.")
	}
	for _, rule := range s.Rules {
		parts = append(parts, rule.text())
	}
	return parts
}

// between words a pair of bounds, either of which may be missing.
func between[N int | float64](low, high *N, both, least, most string) []string {
	number := func(n *N) string { return strconv.FormatFloat(float64(*n), 'f', -1, 64) }
	switch {
	case low != nil && high != nil:
		return []string{fmt.Sprintf(both, number(low), number(high))}
	case low != nil && strings.Contains(least, "%"):
		return []string{fmt.Sprintf(least, number(low))}
	case low != nil && *low > 0:
		return []string{least}
	case high != nil:
		return []string{fmt.Sprintf(most, number(high))}
	default:
		return nil
	}
}

// sentence puts a description on one line, and a full stop behind it.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// cell makes a text safe inside a table: a bar would end the cell, and what
// looks like a tag would not be shown.
func cell(text string) string {
	inCode := false
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '`':
			inCode = !inCode
			b.WriteRune(r)
		case r == '|':
			b.WriteString(`\|`)
		case !inCode && slices.Contains([]rune{'<', '>'}, r):
			b.WriteString(map[rune]string{'<': "&lt;", '>': "&gt;"}[r])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
