package pattern_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLists(t *testing.T) {
	run(t, []table{
		{"a map for every item", `{spec: {containers: [{image: "!*:latest"}]}}`, []check{
			{"one", `{spec: {containers: [{image: "a:1"}]}}`, pass},
			{"several", `{spec: {containers: [{image: "a:1"}, {image: "b:2", name: b}, {image: c}]}}`, pass},
			{"the first is wrong", `{spec: {containers: [{image: "a:latest"}, {image: "b:2"}]}}`,
				fail(at("spec.containers[0].image", "a:latest"))},
			{"the last is wrong", `{spec: {containers: [{image: "a:1"}, {image: "b:latest"}]}}`,
				fail(at("spec.containers[1].image", "b:latest"))},
			{"two are wrong", `{spec: {containers: [{image: "a:latest"}, {image: "b:2"}, {image: "c:latest"}]}}`,
				fail(at("spec.containers[0].image", "a:latest"), at("spec.containers[2].image", "c:latest"))},
			{"one lacks the key", `{spec: {containers: [{image: "a:1"}, {name: b}]}}`, fail(missing("spec.containers[1].image"))},
			{"an empty list", `{spec: {containers: []}}`, pass},
			{"the list is missing", `{spec: {}}`, fail(missing("spec.containers"))},
			{"the list is null", `{spec: {containers: null}}`, fail(at("spec.containers", nil))},
			{"a map instead of the list", `{spec: {containers: {image: "a:1"}}}`, fail(somewhere("spec.containers"))},
			{"a string instead of the list", `{spec: {containers: "a:1"}}`, fail(at("spec.containers", "a:1"))},
			{"an item is a string", `{spec: {containers: ["a:1"]}}`, fail(at("spec.containers[0]", "a:1"))},
			{"an item is null", `{spec: {containers: [{image: "a:1"}, null]}}`, fail(at("spec.containers[1]", nil))},
			{"an item is a list", `{spec: {containers: [[{image: "a:1"}]]}}`, fail(somewhere("spec.containers[0]"))},
		}},
		{"a scalar for every item", `{args: ["--a*"]}`, []check{
			{"all right", `{args: [--a=1, --ab]}`, pass},
			{"one wrong", `{args: [--a=1, --b]}`, fail(at("args[1]", "--b"))},
			{"empty", `{args: []}`, pass},
			{"missing", `{}`, fail(missing("args"))},
			{"null", `{args: null}`, fail(at("args", nil))},
			{"a scalar instead of the list", `{args: --a=1}`, fail(at("args", "--a=1"))},
			{"a map instead of the list", `{args: {}}`, fail(at("args", map[string]any{}))},
			{"an item is a map", `{args: [--a=1, {a: 1}]}`, fail(somewhere("args[1]"))},
			{"an item is null", `{args: [null]}`, fail(at("args[0]", nil))},
		}},
		{"alternatives in one element", `{add: ["NET_BIND_SERVICE | CHOWN"]}`, []check{
			{"both", `{add: [CHOWN, NET_BIND_SERVICE]}`, pass},
			{"another", `{add: [CHOWN, SYS_ADMIN]}`, fail(at("add[1]", "SYS_ADMIN"))},
		}},
		{"a number for every item", `{ports: [80]}`, []check{
			{"all", `{ports: [80, "80"]}`, pass},
			{"one is another", `{ports: [80, 81]}`, fail(at("ports[1]", int64(81)))},
		}},
		{"lists nest in maps of lists", `{spec: {containers: [{ports: [{containerPort: "<1024"}]}]}}`, []check{
			{"right", `{spec: {containers: [{ports: [{containerPort: 80}]}, {ports: []}]}}`, pass},
			{"wrong", `{spec: {containers: [{ports: [{containerPort: 80}]}, {ports: [{containerPort: 443}, {containerPort: 8080}]}]}}`,
				fail(at("spec.containers[1].ports[1].containerPort", int64(8080)))},
			{"an inner list is missing", `{spec: {containers: [{ports: [{containerPort: 80}]}, {}]}}`,
				fail(missing("spec.containers[1].ports"))},
		}},
	})
}

func TestScalarAgainstList(t *testing.T) {
	run(t, []table{
		{"a wildcard", `{args: "a*"}`, []check{
			{"every item is right", `{args: [a, ab]}`, pass},
			{"one is wrong", `{args: [a, b]}`, fail(at("args[1]", "b"))},
			{"two are wrong", `{args: [b, a, c]}`, fail(at("args[0]", "b"), at("args[2]", "c"))},
			{"no item", `{args: []}`, pass},
			{"an item is a map", `{args: [a, {a: a}]}`, fail(at("args[1]", map[string]any{"a": "a"}))},
			{"an item is null", `{args: [a, null]}`, fail(at("args[1]", nil))},
			{"a scalar", `{args: a}`, pass},
			{"missing", `{}`, fail(missing("args"))},
		}},
		{"a negation holds for every item", `{args: "!b"}`, []check{
			{"right", `{args: [a, c]}`, pass},
			{"wrong", `{args: [a, b]}`, fail(at("args[1]", "b"))},
		}},
		{"a comparison", `{ports: ">=1024"}`, []check{
			{"right", `{ports: [1024, "8080"]}`, pass},
			{"wrong", `{ports: [8080, 80]}`, fail(at("ports[1]", int64(80)))},
			{"no number", `{ports: [8080, http]}`, fail(at("ports[1]", "http"))},
		}},
		{"a number", `{x: 5}`, []check{
			{"right", `{x: [5, "5"]}`, pass},
			{"wrong", `{x: [5, 6]}`, fail(at("x[1]", int64(6)))},
		}},
		{"a bool", `{x: false}`, []check{
			{"right", `{x: [false, "false"]}`, pass},
			{"wrong", `{x: [false, true]}`, fail(at("x[1]", true))},
		}},
		{"a range", `{x: 1-10}`, []check{
			{"right", `{x: [1, 5, 10]}`, pass},
			{"wrong", `{x: [0, 5, 11]}`, fail(at("x[0]", int64(0)), at("x[2]", int64(11)))},
		}},
	})
}

func TestSeveralElements(t *testing.T) {
	run(t, []table{
		{"every element applies to every item", `{c: [{image: "corp/*"}, {name: "a*"}]}`, []check{
			{"all right", `{c: [{image: corp/a, name: a}, {image: corp/b, name: ab}]}`, pass},
			{"the first element fails", `{c: [{image: corp/a, name: a}, {image: b, name: ab}]}`, fail(at("c[1].image", "b"))},
			{"the second element fails", `{c: [{image: corp/a, name: b}, {image: corp/b, name: a}]}`, fail(at("c[0].name", "b"))},
			{"each fails at another item", `{c: [{image: corp/a, name: b}, {image: b, name: a}]}`,
				fail(at("c[0].name", "b"), at("c[1].image", "b"))},
			{"a key of the second element is missing", `{c: [{image: corp/a}]}`, fail(missing("c[0].name"))},
			{"right item by item only", `{c: [{image: corp/a}, {name: a}]}`, fail(missing("c[0].name"), missing("c[1].image"))},
			{"empty", `{c: []}`, pass},
			{"missing", `{}`, fail(missing("c"))},
		}},
		{"elements with conditions", `{c: [{(name): web, image: "corp/web*"}, {(name): db, image: "corp/db*"}]}`, []check{
			{"each finds its item", `{c: [{name: web, image: "corp/web:1"}, {name: db, image: "corp/db:1"}]}`, pass},
			{"in any order", `{c: [{name: db, image: "corp/db:1"}, {name: web, image: "corp/web:1"}]}`, pass},
			{"the first's item is wrong", `{c: [{name: web, image: a}, {name: db, image: "corp/db:1"}]}`, fail(at("c[0].image", "a"))},
			{"the second's item is wrong", `{c: [{name: web, image: "corp/web:1"}, {name: db, image: b}]}`, fail(at("c[1].image", "b"))},
			{"only the second has an item and it is wrong", `{c: [{name: db, image: b}]}`, fail(at("c[0].image", "b"))},
			{"only the first has an item and it is wrong", `{c: [{name: web, image: b}, {name: x}]}`, fail(at("c[0].image", "b"))},
			{"neither has an item", `{c: [{name: x, image: b}]}`, skip("name")},
		}},
		{"an element with a condition and one without", `{c: [{(name): web, image: "corp/*"}, {tag: "?*"}]}`, []check{
			{"both hold", `{c: [{name: web, image: corp/a, tag: x}]}`, pass},
			{"the unconditional one fails where the other is skipped", `{c: [{name: db, tag: ""}]}`, fail(at("c[0].tag", ""))},
		}},
	})
}

func TestListsOfLists(t *testing.T) {
	run(t, []table{
		{"scalars by index", `{m: [["a*", "b*"]]}`, []check{
			{"right", `{m: [[a1, b1]]}`, pass},
			{"every inner list is right", `{m: [[a1, b1], [a2, b2]]}`, pass},
			{"swapped", `{m: [[b1, a1]]}`, fail(at("m[0][0]", "b1"), at("m[0][1]", "a1"))},
			{"one is wrong", `{m: [[a1, b1], [a2, c2]]}`, fail(at("m[1][1]", "c2"))},
			{"too short", `{m: [[a1]]}`, fail(missing("m[0][1]"))},
			{"empty inside", `{m: [[a1, b1], []]}`, fail(missing("m[1][0]"), missing("m[1][1]"))},
			{"longer", `{m: [[a1, b1, c1]]}`, pass},
			{"an item is not a list", `{m: [[a1, b1], a1]}`, fail(at("m[1]", "a1"))},
			{"an item is null", `{m: [null]}`, fail(at("m[0]", nil))},
			{"an item is a map", `{m: [{a: b}]}`, fail(somewhere("m[0]"))},
			{"empty outside", `{m: []}`, pass},
			{"missing", `{}`, fail(missing("m"))},
			{"no list", `{m: a1}`, fail(at("m", "a1"))},
		}},
		{"maps by index", `{m: [[{k: a}, {k: b}]]}`, []check{
			{"right", `{m: [[{k: a}, {k: b}]]}`, pass},
			{"swapped", `{m: [[{k: b}, {k: a}]]}`, fail(at("m[0][0].k", "b"), at("m[0][1].k", "a"))},
			{"a scalar instead of a map", `{m: [[{k: a}, b]]}`, fail(at("m[0][1]", "b"))},
		}},
	})
}

// Findings are read from top to bottom beside the resource: item 2 comes before
// item 10, and the same resource gives the same list every time.
func TestOrderOfFailures(t *testing.T) {
	p := compile(t, `{c: [{image: "!bad", name: "?*"}]}`)
	items := strings.Repeat(`{image: bad, name: a}, `, 12)
	resource := decode(t, `{c: [`+strings.TrimSuffix(items, ", ")+`]}`)
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("c[%d].image", i))
	}
	for range 5 {
		var got []string
		for _, f := range p.Match(resource).Failures {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("paths (-want +got):\n%s", diff)
		}
	}
	anchored := compile(t, `{c: [{=(z): x, a: x, X(m): "null"}]}`)
	var got []string
	for _, f := range anchored.Match(decode(t, `{c: [{z: 1, a: 1, m: 1}, {z: 1, m: 1, a: 1}]}`)).Failures {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{"c[0].a", "c[0].m", "c[0].z", "c[1].a", "c[1].m", "c[1].z"}, got); diff != "" {
		t.Errorf("paths with anchors (-want +got):\n%s", diff)
	}
	wide := compile(t, `{a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x}`)
	first := wide.Match(decode(t, `{a: 1, b: 1, c: 1, d: 1}`)).Failures
	for range 20 {
		if diff := cmp.Diff(first, wide.Match(decode(t, `{a: 1, b: 1, c: 1, d: 1}`)).Failures); diff != "" {
			t.Fatalf("the order changes between runs (-first +now):\n%s", diff)
		}
	}
}
