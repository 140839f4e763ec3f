package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/pod"
)

func TestStoreKeepsTheLastGoodSet(t *testing.T) {
	now := time.Unix(1000, 0)
	store := NewStore(pod.Default(), func() time.Time { return now }, pass.Options{})
	if problems := store.Replace("files", sourcesOf(t, strict)); problems != nil {
		t.Fatal(problems)
	}
	good := store.Set()
	twice := sourcesOf(t, strict, strict)
	problems := store.Replace("files", twice)
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "is there twice") {
		t.Fatalf("problems: %v", problems)
	}
	if store.Set() != good {
		t.Error("a change that was refused is in force")
	}
	if state := store.State(); state.Failures != 1 || len(state.Problems) != 1 || !state.Failed.Equal(now) {
		t.Errorf("the state does not tell of it: %+v", state)
	}
	if problems := store.Replace("files", sourcesOf(t, strict)); problems != nil {
		t.Fatal(problems)
	}
	if state := store.State(); len(state.Problems) != 0 || store.Set() == good {
		t.Errorf("a good change was not taken: %+v", state)
	}
}

// A policy of the API server that takes the name of one from a file is the one
// that is left out, and it does not keep files from being loaded again.
func TestStoreOfTwoOrigins(t *testing.T) {
	store := NewStore(pod.Default(), time.Now, pass.Options{})
	var fromAPI Sources
	fromAPI.DenyPolicies = []Sourced[*v1alpha1.DenyPolicy]{{Object: sourcesOf(t, strict).DenyPolicies[0].Object}}
	if problems := store.Merge(fromAPI); problems != nil {
		t.Fatal(problems)
	}
	if problems := store.Replace("files", sourcesOf(t, strict)); problems != nil {
		t.Fatalf("the file was refused: %v", problems)
	}
	if counts := store.Set().Counts(); counts.DenyPolicies != 1 {
		t.Errorf("%d DenyPolicies are in force, want the file's alone", counts.DenyPolicies)
	}
	if problems := store.Merge(fromAPI); len(problems) != 1 || problems[0].Origin != "" {
		t.Errorf("the policy of the API server was not named: %v", problems)
	}
}
