package pattern_test

import "testing"

func TestMaps(t *testing.T) {
	run(t, []table{
		{"a map is walked key by key", `{spec: {a: x, b: u}}`, []check{
			{"every key is right", `{spec: {a: x, b: u}}`, pass},
			{"the order of keys is nothing", `{spec: {b: u, a: x}}`, pass},
			{"further keys are fine", `{spec: {a: x, b: u, c: z}, status: {a: 1}}`, pass},
			{"one is wrong", `{spec: {a: x, b: z}}`, fail(at("spec.b", "z"))},
			{"both are wrong", `{spec: {a: u, b: x}}`, fail(at("spec.a", "u"), at("spec.b", "x"))},
			{"one is missing", `{spec: {b: u}}`, fail(missing("spec.a"))},
			{"one is missing and one is wrong", `{spec: {b: z}}`, fail(missing("spec.a"), at("spec.b", "z"))},
			{"all are missing", `{spec: {}}`, fail(missing("spec.a"), missing("spec.b"))},
			{"the map is missing", `{status: {}}`, fail(missing("spec"))},
			{"the resource is empty", `{}`, fail(missing("spec"))},
			{"null instead of the map", `{spec: null}`, fail(at("spec", nil))},
			{"a string instead of the map", `{spec: x}`, fail(at("spec", "x"))},
			{"an empty string instead of the map", `{spec: ""}`, fail(at("spec", ""))},
			{"a number instead of the map", `{spec: 3}`, fail(at("spec", int64(3)))},
			{"a bool instead of the map", `{spec: false}`, fail(at("spec", false))},
			{"a list instead of the map", `{spec: [x]}`, fail(at("spec", []any{"x"}))},
			{"a list of what the map should be", `{spec: [{a: x, b: u}]}`, fail(somewhere("spec"))},
			{"keys in another case are other keys", `{spec: {A: x, B: u}}`, fail(missing("spec.a"), missing("spec.b"))},
			{"null instead of a value", `{spec: {a: null, b: u}}`, fail(at("spec.a", nil))},
			{"a map instead of a value", `{spec: {a: {x: x}, b: u}}`, fail(at("spec.a", map[string]any{"x": "x"}))},
		}},
		{"maps nest", `{a: {b: {c: {d: one}}}}`, []check{
			{"all the way down", `{a: {b: {c: {d: one}}}}`, pass},
			{"the leaf is wrong", `{a: {b: {c: {d: two}}}}`, fail(at("a.b.c.d", "two"))},
			{"the leaf is missing", `{a: {b: {c: {e: one}}}}`, fail(missing("a.b.c.d"))},
			{"a map between is missing", `{a: {c: {d: one}}}`, fail(missing("a.b"))},
			{"a map between is a string", `{a: {b: c}}`, fail(at("a.b", "c"))},
		}},
		{"the empty pattern", `{}`, []check{
			{"against something", `{spec: {a: x}}`, pass},
			{"against nothing", `{}`, pass},
		}},
	})
}

func TestStarIsPresentAndNotNull(t *testing.T) {
	run(t, []table{
		{"star", `{x: "*"}`, []check{
			{"a string", `{x: text}`, pass},
			{"an empty string", `{x: ""}`, pass},
			{"zero", `{x: 0}`, pass},
			{"a fraction", `{x: 1.5}`, pass},
			{"false", `{x: false}`, pass},
			{"a map", `{x: {a: 1}}`, pass},
			{"an empty map", `{x: {}}`, pass},
			{"a list", `{x: [1, 2]}`, pass},
			{"an empty list", `{x: []}`, pass},
			{"a list of maps", `{x: [{a: 1}]}`, pass},
			{"null", `{x: null}`, fail(at("x", nil))},
			{"missing", `{u: 1}`, fail(missing("x"))},
		}},
		{"question mark and star", `{x: "?*"}`, []check{
			{"a string", `{x: text}`, pass},
			{"one character", `{x: t}`, pass},
			{"one character of several bytes", `{x: "日"}`, pass},
			{"a blank", `{x: " "}`, pass},
			{"zero", `{x: 0}`, pass},
			{"a bool", `{x: false}`, pass},
			{"an empty string", `{x: ""}`, fail(at("x", ""))},
			{"null", `{x: null}`, fail(at("x", nil))},
			{"missing", `{u: 1}`, fail(missing("x"))},
			{"a map", `{x: {a: 1}}`, fail(at("x", map[string]any{"a": int64(1)}))},
			{"an empty map", `{x: {}}`, fail(at("x", map[string]any{}))},
			{"a list of strings", `{x: [a, b]}`, pass},
			{"a list with an empty string", `{x: [a, ""]}`, fail(at("x[1]", ""))},
		}},
	})
}

func TestEmptyPatterns(t *testing.T) {
	run(t, []table{
		{"an empty map is any map", `{x: {}}`, []check{
			{"an empty map", `{x: {}}`, pass},
			{"a full map", `{x: {a: {b: 1}}}`, pass},
			{"missing", `{}`, fail(missing("x"))},
			{"null", `{x: null}`, fail(at("x", nil))},
			{"a list", `{x: []}`, fail(at("x", []any{}))},
			{"a string", `{x: "{}"}`, fail(at("x", "{}"))},
			{"an empty string", `{x: ""}`, fail(at("x", ""))},
			{"zero", `{x: 0}`, fail(at("x", int64(0)))},
			{"false", `{x: false}`, fail(at("x", false))},
		}},
		{"the empty string is only itself", `{x: ""}`, []check{
			{"an empty string", `{x: ""}`, pass},
			{"a blank", `{x: " "}`, fail(at("x", " "))},
			{"text", `{x: a}`, fail(at("x", "a"))},
			{"missing", `{}`, fail(missing("x"))},
			{"null", `{x: null}`, fail(at("x", nil))},
			{"zero", `{x: 0}`, fail(at("x", int64(0)))},
			{"false", `{x: false}`, fail(at("x", false))},
			{"an empty map", `{x: {}}`, fail(at("x", map[string]any{}))},
		}},
	})
}

func TestPathsOfOddKeys(t *testing.T) {
	run(t, []table{
		{"a dot", `{data: {tls.crt: "?*"}}`, []check{
			{"right", `{data: {tls.crt: abc}}`, pass},
			{"empty", `{data: {tls.crt: ""}}`, fail(at("data[tls.crt]", ""))},
			{"missing", `{data: {tls: {crt: abc}}}`, fail(missing("data[tls.crt]"))},
		}},
		{"a dot and maps below", `{data: {a.b: {c: x}}}`, []check{
			{"wrong below", `{data: {a.b: {c: u}}}`, fail(at("data[a.b].c", "u"))},
		}},
		{"a slash", `{limits: {nvidia.com/gpu: "<=1"}}`, []check{
			{"right", `{limits: {nvidia.com/gpu: 1}}`, pass},
			{"too many", `{limits: {nvidia.com/gpu: 2}}`, fail(at("limits[nvidia.com/gpu]", int64(2)))},
		}},
		{"a dash and an underscore", `{data: {my-key_1: a}}`, []check{
			{"wrong", `{data: {my-key_1: b}}`, fail(at("data.my-key_1", "b"))},
		}},
		{"a wildcard in the resource's key is a character", `{metadata: {labels: {app: web}}}`, []check{
			{"star", `{metadata: {labels: {"*": web}}}`, fail(missing("metadata.labels.app"))},
			{"question marks", `{metadata: {labels: {"???": web}}}`, fail(missing("metadata.labels.app"))},
		}},
		{"an anchor in the resource's key is a name", `{spec: {hostNetwork: false}}`, []check{
			{"condition", `{spec: {(hostNetwork): true}}`, fail(missing("spec.hostNetwork"))},
			{"both", `{spec: {(hostNetwork): false, hostNetwork: true}}`, fail(at("spec.hostNetwork", true))},
		}},
	})
}
