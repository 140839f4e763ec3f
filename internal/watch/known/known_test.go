package known

import (
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return began.Add(d) }

func TestStates(t *testing.T) {
	b := NewBook(began)
	if m := b.Missing(began); m != nil {
		t.Errorf("a book without facts lacks %v", m)
	}
	first := b.NewFact("policies", time.Minute, began)
	second := b.NewFact("namespaces", 0, began)
	read := false
	second.Once(func() bool { return read })
	check := func(now time.Duration, want ...string) {
		t.Helper()
		m := b.Missing(at(now))
		if len(want) == 0 {
			if m != nil {
				t.Fatalf("after %s: %v", now, m)
			}
			return
		}
		if m == nil {
			t.Fatalf("after %s everything is known, want %q", now, want)
		}
		var got []string
		for _, f := range m.Facts {
			got = append(got, f.Sentence())
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("after %s: %q, want %q", now, got, want)
		}
	}
	unread := "namespaces were not read yet, since 2026-05-04T12:00:00Z"
	check(0, "policies were not read yet, since 2026-05-04T12:00:00Z", unread)
	first.Heard(at(time.Second))
	check(time.Second, unread)
	second.Heard(at(time.Second))
	check(time.Second, unread)
	read = true
	check(2 * time.Second)
	check(60 * time.Second)
	check(61*time.Second, "policies have not been heard of since 2026-05-04T12:00:01Z")
	first.Again(at(62 * time.Second))
	check(62 * time.Second)
	check(100 * time.Second)
	first.Gone(at(101*time.Second), "deleted")
	check(101*time.Second, "policies do not exist any more since 2026-05-04T12:01:41Z")
	first.Gone(at(110*time.Second), "deleted")
	check(110*time.Second, "policies do not exist any more since 2026-05-04T12:01:41Z")
	first.Heard(at(111 * time.Second))
	check(111 * time.Second)
	b.Add("more", Func(func(time.Time) Standing { return Standing{State: Unread, Since: began, Why: "why"} }))
	check(112*time.Second, "more were not read yet, since 2026-05-04T12:00:00Z")
	b.Add("more", Func(func(time.Time) Standing { return Standing{State: Known} }))
	check(112 * time.Second)
}

func TestASourceThatChanges(t *testing.T) {
	b, state := NewBook(began), Known
	b.Add("modules", Func(func(time.Time) Standing { return Standing{State: state, Since: began} }))
	if b.Missing(began) != nil {
		t.Fatal("it is known")
	}
	state = Lost
	b.Changed()
	if b.Missing(began) == nil {
		t.Fatal("a change is not seen")
	}
}

func TestWords(t *testing.T) {
	b := NewBook(began)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.NewFact(name, 0, began)
	}
	b.facts[0].source.(*Fact).Failed(strings.Repeat("x", 1000))
	got := b.Missing(began).Error()
	if len(got) > 700 {
		t.Errorf("a refusal has %d bytes", len(got))
	}
	for _, want := range []string{"judges nothing: a were not read yet", "; and 2 more", "/readyz"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	var none *Book
	if none.Missing(began) != nil || none.All(began) != nil {
		t.Error("no book lacks something")
	}
}

// BenchmarkMissing is what every request pays.
func BenchmarkMissing(b *testing.B) {
	book := NewBook(began)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		book.NewFact(name, time.Minute, began).Heard(began)
	}
	now := at(time.Second)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if book.Missing(now) != nil {
				b.Error("something is missing")
			}
		}
	})
}

func TestAskingCostsNothing(t *testing.T) {
	book := NewBook(began)
	book.NewFact("a", time.Minute, began).Heard(began)
	now := at(time.Second)
	if n := testing.AllocsPerRun(1000, func() { _ = book.Missing(now) }); n != 0 {
		t.Errorf("asking allocates %v times", n)
	}
	// The lock is not acquired: somebody else holds it.
	book.mu.Lock()
	defer book.mu.Unlock()
	if book.Missing(now) != nil {
		t.Error("something is missing")
	}
}
