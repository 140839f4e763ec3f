package effect_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestEveryRuleIsDocumented has the page say each rule as the list has it, and no
// other.
func TestEveryRuleIsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "effects.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	known := map[string]bool{}
	for _, r := range effect.Rules() {
		if known[r.Reason] {
			t.Errorf("%s is there twice", r.Reason)
		}
		known[r.Reason] = true
		row := strings.Join([]string{"| `" + r.Reason + "`", string(r.Answer), r.Kinds, r.Field, r.What, r.Write + " |"}, " | ")
		if !strings.Contains(page, row+"\n") {
			t.Errorf("docs/effects.md has no row\n%s", row)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\| (?:refused|warned about) ").FindAllStringSubmatch(page, -1) {
		if !known[row[1]] {
			t.Errorf("docs/effects.md has a row about %s, which is not a rule", row[1])
		}
	}
}

// TestReasons are words that an API server takes for the reason of a condition.
func TestReasons(t *testing.T) {
	word := regexp.MustCompile(`^[A-Z][A-Za-z]*$`)
	for _, r := range effect.Rules() {
		if !word.MatchString(r.Reason) || r.Kinds == "" || r.Field == "" || r.What == "" || r.Write == "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestNotesAndErrors(t *testing.T) {
	at := field.NewPath("spec", "settings")
	if n := effect.NullInSettings.Note(at); n.Rule != effect.NullInSettings || n.Path != at || !strings.Contains(n.Detail, "leave it out") {
		t.Errorf("%+v", n)
	}
	if err := effect.NullInPattern.Error(at, nil, "x"); err.Field != "spec.settings" || !strings.Contains(err.Detail, "write x") {
		t.Error(err)
	}
}

func TestCondition(t *testing.T) {
	if c := effect.Condition(nil); c.Status != metav1.ConditionTrue || c.Reason != "AsWritten" {
		t.Errorf("%+v", c)
	}
	less := []source.Problem{{Path: "a", Detail: "b", Reason: "First"}, {Detail: "c", Reason: "Second"}}
	if c := effect.Condition(less); c.Type != "Effective" || c.Status != metav1.ConditionFalse || c.Reason != "First" || c.Message != "a: b; c" {
		t.Errorf("%+v", c)
	}
}
