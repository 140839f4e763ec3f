package provenance

import (
	"debug/buildinfo"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

func released(revision string) facts.Facts {
	return facts.Facts{Version: "v1.2.3", Revision: revision, Time: time.Unix(1, 0).UTC()}
}

func program(sum string) *product.Program {
	return &product.Program{
		Platform: product.Platform{OS: "linux", Arch: "amd64"},
		Build:    &buildinfo.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/m", Version: "v1.0.0", Sum: sum}}},
	}
}

// empty is the checksum of a module without files.
const empty = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func TestMake(t *testing.T) {
	made, err := Make(released("abc"), "image", "https://example.com/builder", []*product.Program{program(empty), program(empty)}, Of("x", nil))
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(made, &s); err != nil {
		t.Fatal(err)
	}
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if len(s.Subject) != 1 || s.Subject[0].Name != "x" || s.Subject[0].Digest["sha256"] != nothing {
		t.Errorf("it is about %v", s.Subject)
	}
	d := s.Predicate.BuildDefinition.ResolvedDependencies
	if len(d) != 3 || d[0].Digest["gitCommit"] != "abc" || d[1].URI != "pkg:golang/stdlib@1.26.8" || d[2].URI != "pkg:golang/example.com/m@v1.0.0" || d[2].Digest["dirHash"] != nothing {
		t.Errorf("it was built from %v", d)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || s.Predicate.RunDetails.Builder.ID != "https://example.com/builder" {
		t.Errorf("it is %s with %s by %s", s.Type, s.PredicateType, s.Predicate.RunDetails.Builder.ID)
	}
}

// TestNoCommitOfChanges has a tree with changes not claim the commit below them.
func TestNoCommitOfChanges(t *testing.T) {
	made, err := Make(released("abc-modified"), "image", ByHand, nil)
	if err != nil || strings.Contains(string(made), "gitCommit") {
		t.Errorf("%v: %s", err, made)
	}
}

func TestMakeRefuses(t *testing.T) {
	for _, sum := range []string{"", "h1:", "h1:YQ==", "h2:" + empty[3:]} {
		if _, err := Make(released("abc"), "image", ByHand, []*product.Program{program(sum)}); err == nil || !strings.Contains(err.Error(), "example.com/m@v1.0.0") {
			t.Errorf("the checksum %q: %v", sum, err)
		}
	}
}
