package serve

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestCAFileIsFollowed has whoever keeps webhooks told of another CA, as a Secret that is
// mounted brings it: by a link that leads elsewhere.
func TestCAFileIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "ca.crt"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "..data")
	if err := os.Symlink("one", data); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..data/ca.crt", filepath.Join(dir, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{}, 1)
	f := &policyServerFlags{ownCA: filepath.Join(dir, "ca.crt")}
	clock := clocktesting.NewFakeClock(time.Now())
	f.watchCA(t.Context(), clock, func() { told <- struct{}{} })
	if err := os.Symlink("other", data+"_tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data+"_tmp", data); err != nil {
		t.Fatal(err)
	}
	for {
		clock.Step(time.Second)
		select {
		case <-told:
			return
		case <-t.Context().Done():
			t.Fatal("nobody was told")
		default:
			runtime.Gosched()
		}
	}
}
