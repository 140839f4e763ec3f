package demo

import (
	"strings"
	"testing"
)

// TestDemoScenes holds each scene to what it is there to show.
func TestDemoScenes(t *testing.T) {
	s, err := newStage()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"allow", "warn", "deny", "deny",
		"allow", "warn", "deny", "deny", "allow", "deny",
	}
	var got []string
	for i := range frontScenes {
		a, err := s.front(t.Context(), &frontScenes[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(a.decision.Verdict))
	}
	for i := range sideScenes {
		a, err := s.side(t.Context(), &sideScenes[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(a.decision.Verdict))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
