package standard

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// everyField has an entry for every field of every control, for any image and
// any value.
func everyField() []v1alpha1.PodSecurityExclusion {
	var list []v1alpha1.PodSecurityExclusion
	for _, c := range excusables().list {
		for _, name := range c.fieldNames() {
			entry := v1alpha1.PodSecurityExclusion{ControlName: c.name, RestrictedField: name, Values: []string{"*"}}
			if f, _ := c.lookup(name); f.inContainer != nil {
				entry.Images = []string{"*"}
			}
			list = append(list, entry)
		}
	}
	return list
}

// everyExclusion excuses whatever can be excused.
func everyExclusion(t testing.TB) Exclusions { return compileExclusions(t, everyField()) }

// everyOther is every second entry of everyField.
func everyOther() []v1alpha1.PodSecurityExclusion {
	var list []v1alpha1.PodSecurityExclusion
	for i, entry := range everyField() {
		if i%2 == 0 {
			list = append(list, entry)
		}
	}
	return list
}

// randomExclusions makes entries that excuse about a share of the findings, some
// by exact values, some by patterns and some whole controls.
func randomExclusions(random *rand.Rand, p *pod.Pod, violations []Violation) []v1alpha1.PodSecurityExclusion {
	var list []v1alpha1.PodSecurityExclusion
	places := placesOf(p)
	for _, v := range violations {
		control := excusables().byName[v.Control]
		for _, f := range v.Findings {
			at, ok := places.find(control, f.Path)
			if !ok || random.Intn(3) == 0 {
				continue
			}
			entry := v1alpha1.PodSecurityExclusion{ControlName: v.Control}
			if at.container != nil {
				entry.Images = [][]string{{"*"}, {withoutSpace(at.container.Image) + "*"}, {"none"}}[random.Intn(3)]
			}
			if random.Intn(4) > 0 {
				entry.RestrictedField = at.field.name
				if at.container != nil {
					entry.RestrictedField = containerField(at.kind) + at.field.name
				}
				entry.Values = [][]string{{f.Value}, {f.Value, "x"}, {"*"}}[random.Intn(3)]
			}
			list = append(list, entry)
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// withoutSpace is a pattern of an image, in which no space may stand.
func withoutSpace(image string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '?'
		}
		return r
	}, image)
}

// FuzzExcuse makes a pod and exclusions of each seed, and holds that:
// every finding can be excused, except for paths that go up;
// what is left is what no entry names, and worded as the check words a pod that
// has just that wrong with it;
// entries add up, however they are put together and in whatever order.
func FuzzExcuse(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	all := append(everyStandard(v1alpha1.ProbeHostsKubernetes), everyStandard(v1alpha1.ProbeHostsKEP4940)...)
	slices.SortFunc(all, func(a, b *Standard) int { return slices.Compare([]byte(a.String()), []byte(b.String())) })
	everything := everyExclusion(f)
	f.Fuzz(func(t *testing.T, seed int64) {
		random := rand.New(rand.NewSource(seed))
		p := randomPod(seed)
		if random.Intn(2) == 0 {
			p = inTemplate(p)
		}
		for range 4 {
			s := all[random.Intn(len(all))]
			violations := s.Check(p)
			if left, _ := everything.Excuse(p, violations); len(left) > 0 {
				for _, path := range pathsOf(left) {
					t.Errorf("%s: %s cannot be excused", s, path)
				}
			}
			list := randomExclusions(random, p, violations)
			for i := range list {
				if _, errs := CompileExclusions(list[i:i+1], nil); len(errs) > 0 {
					t.Fatalf("%s: %v", s, errs)
				}
			}
			x := compileExclusions(t, list)
			left, used := x.Excuse(p, violations)
			compareMended(t, p, left)
			compareEntries(t, p, violations, list, left, used)
			compareOrders(t, p, violations, list, left)
		}
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
}

// compareMended judges the pod with everything mended that is not left.
func compareMended(t *testing.T, p *pod.Pod, left []Violation) {
	t.Helper()
	for _, v := range left {
		if len(v.Findings) == len(v.all) {
			continue
		}
		control := excusables().byName[v.Control]
		l := placesOf(p)
		m := mendedCopy(p)
		for _, f := range v.all {
			if at, ok := l.find(control, f.Path); ok && !reports(v, f) {
				m.mend(&at)
			}
		}
		m.fillVolumes()
		found := (&Standard{plan: planOf([]step{*v.step})}).Check(&m.Pod)
		if len(found) != 1 {
			t.Fatalf("%s: %d violations in the mended pod", v.ID, len(found))
		}
		if diff := cmp.Diff(found[0].Findings, v.Findings); diff != "" {
			t.Errorf("%s: findings (-mended pod +left):\n%s", v.ID, diff)
		}
		if found[0].Reason != v.Reason || found[0].Detail != v.Detail {
			t.Errorf("%s: %q is left, the mended pod has %q", v.ID, Message([]Violation{v}), Message(found))
		}
		if result := v.step.library(m.Meta, m.Spec); result.Allowed {
			t.Errorf("%s: the library finds nothing in the mended pod", v.ID)
		}
	}
}

func reports(v Violation, f decision.Finding) bool {
	return slices.ContainsFunc(v.Findings, func(o decision.Finding) bool { return o.Path == f.Path })
}

// compareEntries holds that a finding is left exactly where no entry by itself
// takes it out, and that the entries that do are the ones used.
func compareEntries(t *testing.T, p *pod.Pod, violations []Violation, list []v1alpha1.PodSecurityExclusion, left []Violation, used []int) {
	t.Helper()
	gone := map[[2]string]bool{}
	for i := range list {
		alone, hit := compileExclusions(t, list[i:i+1]).Excuse(p, violations)
		if (len(hit) > 0) != slices.Contains(used, i) {
			t.Errorf("entry %d excuses something by itself: %t, with the others: %t", i, len(hit) > 0, slices.Contains(used, i))
		}
		for _, v := range violations {
			for _, f := range v.Findings {
				if !among(alone, v.ID, f.Path) {
					gone[[2]string{v.ID, f.Path}] = true
				}
			}
		}
	}
	for _, v := range violations {
		for _, f := range v.Findings {
			if among(left, v.ID, f.Path) == gone[[2]string{v.ID, f.Path}] {
				t.Errorf("%s at %s: excused by an entry: %t, and by all of them the opposite", v.ID, f.Path, gone[[2]string{v.ID, f.Path}])
			}
		}
	}
}

func among(violations []Violation, id, path string) bool {
	return slices.ContainsFunc(violations, func(v Violation) bool { return v.ID == id && slices.Contains(pathsOf([]Violation{v}), path) })
}

// compareOrders applies the entries one after the other, forwards and backwards.
func compareOrders(t *testing.T, p *pod.Pod, violations []Violation, list []v1alpha1.PodSecurityExclusion, want []Violation) {
	t.Helper()
	forwards, backwards := violations, violations
	for i := range list {
		forwards, _ = compileExclusions(t, list[i:i+1]).Excuse(p, forwards)
		last := len(list) - 1 - i
		backwards, _ = compileExclusions(t, list[last:last+1]).Excuse(p, backwards)
	}
	options := []cmp.Option{cmpopts.IgnoreUnexported(Violation{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, forwards, options...); diff != "" {
		t.Errorf("one after the other (-at once +forwards):\n%s", diff)
	}
	if diff := cmp.Diff(want, backwards, options...); diff != "" {
		t.Errorf("one after the other (-at once +backwards):\n%s", diff)
	}
}
