package patterns

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/go-logr/logr"
	"github.com/kyverno/kyverno/pkg/engine/validate"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/pattern"
)

var (
	comparisons = flag.Int("comparisons", 10_000, "how many pairs of a pattern and a resource are compared")
	first       = flag.Uint64("first", 1, "the seed of the first pair")
)

// turns is how often the other engine judges each pair: it walks some maps in
// their random order.
const turns = 3

// TestNoLaxerVerdict compares verdicts at random: what the other engine denies, ours
// denies.
func TestNoLaxerVerdict(t *testing.T) {
	var compared, refused, same, stricter, otherwise int
	shown := 0
	for n := range uint64(*comparisons) {
		seed := *first + n
		m := maker{rand.New(rand.NewPCG(seed, 0))}
		wantsRaw, hasRaw := m.pair()
		ours, ok := judge(t, wantsRaw, hasRaw)
		if !ok {
			refused++
			continue
		}
		compared++
		theirs := judgeElsewhere(t, wantsRaw, hasRaw)
		switch {
		case theirs[ours]:
			same++
		case ours == pattern.Fail:
			stricter++
			if shown < 20 {
				shown++
				t.Logf("stricter, seed %d: pattern %s, resource %s", seed, text(wantsRaw), text(hasRaw))
			}
		case theirs[pattern.Pass] || theirs[pattern.Skip]:
			otherwise++
		default:
			t.Errorf("laxer, seed %d: %s, and the other engine denies: pattern %s, resource %s", seed, ours, text(wantsRaw), text(hasRaw))
		}
	}
	t.Logf("%d pairs compared, %d patterns refused; the same %d, stricter %d, let in for another reason %d", compared, refused, same, stricter, otherwise)
	if compared < *comparisons/3 {
		t.Errorf("%d of %d patterns were refused: too few were compared", refused, *comparisons)
	}
}

// judge has our engine judge; ok is not set where it refuses the pattern.
func judge(t *testing.T, wants, has map[string]any) (pattern.Outcome, bool) {
	t.Helper()
	compiled, errs := pattern.Compile(decoded(t, wants), field.NewPath("pattern"))
	if len(errs) > 0 {
		return 0, false
	}
	return compiled.Match(decoded(t, has)).Outcome, true
}

// judgeElsewhere has the other engine judge, and returns all of its answers.
func judgeElsewhere(t *testing.T, wants, has map[string]any) map[pattern.Outcome]bool {
	t.Helper()
	answers := map[pattern.Outcome]bool{}
	for range turns {
		// It reads numbers of patterns as encoding/json does, and those of resources
		// as the API machinery does.
		var wanted any
		if err := json.Unmarshal([]byte(text(wants)), &wanted); err != nil {
			t.Fatal(err)
		}
		err := validate.MatchPattern(logr.Discard(), decoded(t, has), wanted)
		var denied *validate.PatternError
		switch {
		case err == nil:
			answers[pattern.Pass] = true
		case errors.As(err, &denied) && denied.Skip:
			answers[pattern.Skip] = true
		default:
			answers[pattern.Fail] = true
		}
	}
	return answers
}

// decoded is a tree as the API machinery reads it.
func decoded(t *testing.T, tree map[string]any) map[string]any {
	t.Helper()
	var read map[string]any
	if err := utiljson.Unmarshal([]byte(text(tree)), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func text(tree any) string {
	written, err := json.Marshal(tree)
	if err != nil {
		panic(err) // it was made of what JSON has
	}
	return string(written)
}
