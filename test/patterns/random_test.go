package patterns

import (
	"math/rand/v2"
)

// maker makes patterns, and resources that come close to them: what agrees with a
// pattern nowhere says little about either engine.
type maker struct{ *rand.Rand }

var (
	names   = []string{"a", "b", "c", "image", "Name"}
	scalars = []any{"a", "b", "corp/x", "corp/x:1", "docker/x", "", int64(0), int64(1), int64(80), 1.5, true, false, "10Mi", "2Gi", "500m", "1", "80"}
	wanted  = []any{
		"*", "?*", "corp/*", "!corp/*", "a", "a | b", "!a & !b", "", "corp/* | docker/*", "*x*", "!*",
		int64(0), int64(1), 1.5, true, false, nil,
		">0", ">=1", "<80", "<=80", "!80", "1-80", "1!-80", ">10Mi", "<=2Gi", ">500m", ">0 & <80", "1 | 80",
	}
	signs = []string{"", "=", "X", "^", "<"}
)

func pick[T any](m maker, from []T) T { return from[m.IntN(len(from))] }

// pattern is a random pattern of a map.
func (m maker) pattern(depth int) map[string]any {
	made := map[string]any{}
	for range 1 + m.IntN(3) {
		name := pick(m, names)
		key := name
		if m.IntN(3) == 0 {
			key = pick(m, signs) + "(" + name + ")"
		}
		switch {
		case key[0] == '^':
			list := []any{}
			for range 1 + m.IntN(2) {
				list = append(list, m.pattern(depth-1))
			}
			made[key] = list
		case key[0] == 'X':
			made[key] = nil
		default:
			made[key] = m.wants(depth)
		}
	}
	return made
}

// wants is a random value of a pattern.
func (m maker) wants(depth int) any {
	if depth <= 0 {
		return pick(m, wanted)
	}
	switch m.IntN(7) {
	case 0, 1:
		return m.pattern(depth - 1)
	case 2, 3:
		return []any{m.pattern(depth - 1)}
	case 4:
		return []any{pick(m, wanted)}
	}
	return pick(m, wanted)
}

// resource is a random resource that has much of what a pattern speaks of.
func (m maker) resource(pattern map[string]any, depth int) map[string]any {
	made := map[string]any{}
	for key, value := range pattern {
		sign, name := split(key)
		if m.IntN(6) == 0 || sign == "X" && m.IntN(2) == 0 {
			continue
		}
		made[name] = m.near(value, depth)
	}
	if m.IntN(4) == 0 {
		made[pick(m, names)] = m.anything(depth - 1)
	}
	return made
}

// near is a value that may well match what a pattern wants.
func (m maker) near(wants any, depth int) any {
	if m.IntN(8) == 0 {
		return m.anything(depth - 1)
	}
	switch w := wants.(type) {
	case map[string]any:
		return m.resource(w, depth-1)
	case []any:
		items := []any{}
		for range m.IntN(4) {
			items = append(items, m.near(pick(m, w), depth-1))
		}
		return items
	case string:
		if m.IntN(2) == 0 {
			return w
		}
	case nil:
	default:
		if m.IntN(3) > 0 {
			return w
		}
	}
	return pick(m, scalars)
}

// anything is a value that no pattern was looked at for.
func (m maker) anything(depth int) any {
	if depth > 0 {
		switch m.IntN(4) {
		case 0:
			return map[string]any{pick(m, names): m.anything(depth - 1)}
		case 1:
			return []any{m.anything(depth - 1), m.anything(depth - 1)}
		}
	}
	if m.IntN(8) == 0 {
		return nil
	}
	return pick(m, scalars)
}

// split takes a key of a pattern apart.
func split(key string) (sign, name string) {
	for i := range key {
		if key[i] == '(' {
			return key[:i], key[i+1 : len(key)-1]
		}
	}
	return "", key
}

// pair is a random pattern with a resource. Some have labels,
// whose keys may have wildcards.
func (m maker) pair() (pattern, resource map[string]any) {
	pattern = m.pattern(3)
	resource = m.resource(pattern, 3)
	if m.IntN(6) == 0 {
		key := pick(m, []string{"a*", "*", "?", "(a*)", "=(a*)", "<(a*)", "X(a*)"})
		pattern["metadata"] = map[string]any{"labels": map[string]any{key: pick(m, []any{"a", "?*", "!b"})}}
		labels := map[string]any{}
		for range m.IntN(3) {
			labels[pick(m, []string{"a", "ab", "b"})] = pick(m, []any{"a", "b", ""})
		}
		resource["metadata"] = map[string]any{"labels": labels}
	}
	return pattern, resource
}
