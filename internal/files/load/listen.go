package load

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// listener listens to the file system. Where that cannot be done no notice
// comes, and whoever waits for one has to look for himself now and then.
type listener struct {
	paths []string
	// notices says that something may have changed; several may come as one.
	notices chan struct{}
	watcher *fsnotify.Watcher

	mu sync.Mutex
	// inside holds the directories in which every change matters; in the others,
	// the parents of the paths, only the paths themselves do.
	inside map[string]bool
}

// listen starts to listen to the paths.
func listen(paths []string) *listener {
	l := &listener{paths: paths, notices: make(chan struct{}, 1)}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return l
	}
	l.watcher = watcher
	go l.forward()
	return l
}

func (l *listener) close() {
	if l.watcher != nil {
		_ = l.watcher.Close()
	}
}

// forward passes notices on until the watcher is closed. An error of the watcher
// is a notice: it may have lost others.
func (l *listener) forward() {
	for {
		select {
		case event, ok := <-l.watcher.Events:
			if !ok {
				return
			}
			if !l.matters(event) {
				continue
			}
		case _, ok := <-l.watcher.Errors:
			if !ok {
				return
			}
		}
		select {
		case l.notices <- struct{}{}:
		default:
		}
	}
}

func (l *listener) matters(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	name := filepath.Clean(event.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside[filepath.Dir(name)] || l.inside[name] {
		return true
	}
	for _, path := range l.paths {
		if filepath.Clean(path) == name {
			return true
		}
	}
	return false
}

// rearm listens to directories that are new.
func (l *listener) rearm() {
	if l.watcher == nil {
		return
	}
	inside := map[string]bool{}
	for _, path := range l.paths {
		addDirectories(path, inside)
	}
	l.mu.Lock()
	l.inside = inside
	l.mu.Unlock()
	for dir := range inside {
		// A directory that cannot be listened to is polled.
		_ = l.watcher.Add(dir)
	}
	for _, path := range l.paths {
		_ = l.watcher.Add(filepath.Dir(filepath.Clean(path)))
	}
}

// addDirectories finds the directories in which a change to path can happen: the
// path, what it contains, and where links lead.
func addDirectories(path string, found map[string]bool) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil || found[resolved] {
		return
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return
	}
	if !info.IsDir() {
		found[filepath.Dir(resolved)] = true
		return
	}
	found[resolved] = true
	entries, err := os.ReadDir(resolved)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
			addDirectories(filepath.Join(resolved, entry.Name()), found)
		}
	}
}
