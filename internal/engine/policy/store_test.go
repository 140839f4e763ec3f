package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

func TestStoreKeepsTheLastGoodSet(t *testing.T) {
	now := time.Unix(1000, 0)
	store := NewStore(pod.Default(), func() time.Time { return now }, exception.Options{})
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
		t.Errorf("a good change was not accepted: %+v", state)
	}
}

// A policy of the API server that takes the name of one from a file is the one
// that is left out, and it does not keep files from being loaded again.
func TestStoreOfTwoOrigins(t *testing.T) {
	store := NewStore(pod.Default(), time.Now, exception.Options{})
	var fromAPI Sources
	fromAPI.DenyPolicies = []stored.Sourced[*v1alpha1.DenyPolicy]{{Object: sourcesOf(t, strict).DenyPolicies[0].Object}}
	if problems := store.Merge(fromAPI); problems != nil {
		t.Fatal(problems)
	}
	if problems := store.Replace("files", sourcesOf(t, strict)); problems != nil {
		t.Fatalf("the file was refused: %v", problems)
	}
	if counts := store.Set().Counts(); counts.DenyPolicies != 1 {
		t.Errorf("%d DenyPolicies are in force, want only the file's", counts.DenyPolicies)
	}
	if problems := store.Merge(fromAPI); len(problems) != 1 || problems[0].Origin != "" {
		t.Errorf("the policy of the API server was not named: %v", problems)
	}
}

// TestLeft remembers for a moment which modules were removed.
func TestLeft(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s := NewStore(pod.Default(), func() time.Time { return now }, exception.Options{})
	with := func(names ...string) {
		var sources Sources
		for _, name := range names {
			sources.ClusterAdmissionPolicies = append(sources.ClusterAdmissionPolicies, stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{Object: &v1alpha1.ClusterAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterAdmissionPolicySpec{AdmissionPolicySpec: v1alpha1.AdmissionPolicySpec{
					Module: "file:///a.wasm", Rules: []admissionregistrationv1.RuleWithOperations{{
						Operations: []admissionregistrationv1.OperationType{"*"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
					}},
				}},
			}})
		}
		if problems := s.Merge(sources); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	want := func(left ...string) {
		t.Helper()
		for _, id := range []string{"clusterwide-a", "clusterwide-b", "clusterwide-c"} {
			if got := s.Left(id); got != slices.Contains(left, id) {
				t.Errorf("%s is left: %v", id, got)
			}
		}
	}
	with("a", "b")
	want()
	with("b")
	want("clusterwide-a")
	with()
	want("clusterwide-a", "clusterwide-b")
	with("a")
	want("clusterwide-b")
	now = now.Add(leaves)
	want()
}

// TestPoliciesThatAreStoredBesideFiles are accepted, and whoever writes one is told that
// it does not come into force.
func TestPoliciesThatAreStoredBesideFiles(t *testing.T) {
	state := clusterOf(t)
	gvk := schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: "DenyPolicy"}
	for _, filesOnly := range []bool{false, true} {
		store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
		if filesOnly {
			store.FilesOnly()
		}
		if problems := store.Replace("files", Sources{}); len(problems) > 0 {
			t.Fatal(problems)
		}
		r := only(t, store.Set().Decide(t.Context(), created(t, state, gvk, "denypolicies", strict)))
		if told := r.Status == decision.Warn && strings.Contains(r.Message, "--watch-policies"); told != filesOnly {
			t.Errorf("files only %v: %s: %s", filesOnly, r.Status, r.Message)
		}
		wrong := strings.Replace(strict, "maxScore: 100", "maxScore: 50", 1)
		if r := only(t, store.Set().Decide(t.Context(), created(t, state, gvk, "denypolicies", wrong))); r.Status != decision.Fail || strings.Contains(r.Message, "--watch-policies") {
			t.Errorf("one that cannot work, files only %v: %s: %s", filesOnly, r.Status, r.Message)
		}
	}
}

// TestVersionsInForce are those of the objects of the API server that are in the set.
func TestVersionsInForce(t *testing.T) {
	objects := asStored(t, yamlOf("ClusterPolicy", "p", podBaseline), yamlOf("ClusterPolicy", "broken", brokenRules))
	for _, o := range objects {
		o.SetGeneration(3)
	}
	store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
	NewFeed(store).Take(objects)
	if problems := store.Replace("files", sourcesOf(t, yamlOf("ClusterPolicy", "from-file", podBaseline))); len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, want := range map[string]Version{"p": {objects[0].GetUID(), 3}, "broken": {}, "from-file": {}, "gone": {}} {
		if got := store.Set().VersionOf(stored.Ref{Kind: "ClusterPolicy", Name: name}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
