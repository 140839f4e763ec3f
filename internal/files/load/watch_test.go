package load

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// TestWatcherNotices runs against the real file system and the real clock: that
// is what it is there for. Each step waits for its notice, not for time.
func TestWatcherNotices(t *testing.T) {
	steps := []struct {
		name   string
		change func(t *testing.T, dir string)
	}{
		{"a file is written over", func(t *testing.T, dir string) { write(t, dir, "a.yaml", "a: 2") }},
		{"an editor writes beside it and renames", func(t *testing.T, dir string) {
			write(t, dir, ".a.yaml.swp", "a: 3")
			rename(t, filepath.Join(dir, ".a.yaml.swp"), filepath.Join(dir, "a.yaml"))
		}},
		{"a file is added in a new directory", func(t *testing.T, dir string) { write(t, dir, "deep/er/b.yml", "b: 1") }},
		{"and changed there", func(t *testing.T, dir string) { write(t, dir, "deep/er/b.yml", "b: 2") }},
		{"a ConfigMap is mounted", func(t *testing.T, dir string) {
			write(t, dir, "..1/c.yaml", "c: 1")
			write(t, dir, "..2/c.yaml", "c: 2")
			link(t, "..1", filepath.Join(dir, "..data"))
			link(t, "..data/c.yaml", filepath.Join(dir, "c.yaml"))
		}},
		{"the ConfigMap is swapped", func(t *testing.T, dir string) {
			link(t, "..2", filepath.Join(dir, "..tmp"))
			rename(t, filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data"))
		}},
		{"a file is removed", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "a.yaml")) }},
		{"the directory is removed", func(t *testing.T, dir string) { remove(t, dir) }},
		{"the directory is made again", func(t *testing.T, dir string) { write(t, dir, "d.yaml", "d: 1") }},
		{"and changed", func(t *testing.T, dir string) { write(t, dir, "d.yaml", "d: 2") }},
	}
	dir := filepath.Join(t.TempDir(), "policies")
	write(t, dir, "a.yaml", "a: 1")
	changes := make(chan struct{}, 100)
	w := NewWatcher([]string{dir}, clock.RealClock{})
	w.settle = 20 * time.Millisecond
	stop := watch(t, w, func() { changes <- struct{}{} })
	defer stop()
	for _, step := range steps {
		start := time.Now()
		step.change(t, dir)
		select {
		case <-changes:
			t.Logf("%s: noticed after %s", step.name, time.Since(start))
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: not noticed", step.name)
		}
		// A step of several writes may count twice.
		for settled := false; !settled; {
			select {
			case <-changes:
			case <-time.After(5 * w.settle):
				settled = true
			}
		}
	}
}

func TestWatcherPassesOverWhatIsNotRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policies")
	write(t, dir, "a.yaml", "a: 1")
	w := NewWatcher([]string{dir}, clock.RealClock{})
	write(t, dir, "notes.txt", "hello")
	write(t, dir, ".hidden.yaml", "hello")
	write(t, dir, "a.yaml", "a: 1")
	if w.changed(context.Background()) {
		t.Error("a change was seen, but nothing that is read has changed")
	}
}

// watch runs a Watcher until stop is called, which waits for it to end.
func watch(t *testing.T, w *Watcher, onChange func()) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, onChange)
	}()
	return func() {
		cancel()
		<-done
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
