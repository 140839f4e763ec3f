package crd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// values are what is written in place of a string.
var values = []any{
	"", "*", "a?", "a", "a b", " a", "a/b", "A", "a.b", "a_b", "-", "1h", "0", "[a]", "x\ny", "ä",
	strings.Repeat("a", 70), strings.Repeat("a", 300), strings.Repeat("a", 5000),
}

// variants visits a tree with one thing in it changed, and puts it back. set puts
// something into its place.
func variants(tree any, set func(any), visit func(what string)) {
	try := func(values ...any) {
		for _, v := range values {
			set(v)
			visit(fmt.Sprint(v))
		}
		set(tree)
	}
	switch tree := tree.(type) {
	case map[string]any:
		try(map[string]any{})
		for name, value := range tree {
			delete(tree, name)
			visit("without " + name)
			tree[name] = value
			variants(value, func(v any) { tree[name] = v }, func(what string) { visit(name + ": " + what) })
		}
	case []any:
		try([]any{})
		if len(tree) > 0 {
			set(append(slices.Clone(tree), tree[0]))
			visit("its first item twice")
			set(tree)
		}
		for i, value := range tree {
			variants(value, func(v any) { tree[i] = v }, func(what string) { visit(fmt.Sprintf("[%d]: %s", i, what)) })
		}
	case string:
		try(values...)
	case int64:
		try(int64(-1), int64(0), int64(1), int64(1_000_000))
	case bool:
		try(!tree)
	}
}

// onlyTheirs reports whether a file may have what a definition refuses: a file has no
// longest text, an empty string in it counts as none, and it may leave out what
// is of the server that reads it.
func onlyTheirs(kind string, err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeTooLong:
		return true
	case field.ErrorTypeNotSupported:
		return err.BadValue == ""
	case field.ErrorTypeRequired:
		return kind == "ClusterConfig" && err.Field == "spec.kubeconfigSecretRef" || kind == "BreakglassSession" && err.Field == "spec.cluster"
	}
	return false
}

// TestNoDefinitionIsStricter changes what is right in many ways: whatever a definition
// refuses of that, the loader has to refuse as well.
func TestNoDefinitionIsStricter(t *testing.T) {
	known := definitions(t)
	tried, refused := 0, 0
	said, looked := map[string]bool{}, map[string]bool{}
	for _, p := range Pairs() {
		if looked[p.Right] {
			continue
		}
		looked[p.Right] = true
		object, _ := loaded(t, p.Right, p.Beside)
		variants(object["spec"], func(v any) { object["spec"] = v }, func(what string) {
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			var changed map[string]any
			if err := utiljson.Unmarshal(text, &changed); err != nil {
				t.Fatal(err)
			}
			errs := known[p.Kind].refuses(t.Context(), changed)
			if tried++; len(errs) == 0 {
				return
			}
			refused++
			if _, problems := loaded(t, string(text), p.Beside); len(problems) > 0 {
				return
			}
			for _, err := range errs {
				if key := p.Kind + " " + err.Field + " " + err.Detail; !onlyTheirs(p.Kind, err) && !said[key] {
					said[key] = true
					t.Errorf("%s, %s: the loader takes it, and the definition says %.300s", p.Kind, what, err)
				}
			}
		})
	}
	t.Logf("of %d variants %d were refused", tried, refused)
	if tried < 10_000 || refused < tried/10 {
		t.Errorf("of %d variants %d were refused", tried, refused)
	}
}
