package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// The programs of the lab look at this variable: they end when nobody holds the
// lock on the file that it names, and remove the directory that the file stands
// in. The lock is gone when this process is, whatever ended it.
const lifelineVariable = "SALLYPORT_LAB_LIFELINE"

var lifeline struct {
	sync.Mutex
	dir  string
	file *os.File
	next int
	labs int
}

// newDirectory makes a directory for a lab, below the one that this process has
// for all of its labs, and returns it with what removes it again.
func newDirectory() (dir string, remove func() error, err error) {
	lifeline.Lock()
	defer lifeline.Unlock()
	if lifeline.labs == 0 {
		if err := tieLifeline(); err != nil {
			return "", nil, fmt.Errorf("a directory for the lab: %w", err)
		}
	}
	lifeline.next++
	dir = filepath.Join(lifeline.dir, fmt.Sprint(lifeline.next))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	lifeline.labs++
	return dir, func() error { return releaseDirectory(dir) }, nil
}

func tieLifeline() error {
	dir, err := os.MkdirTemp("", "sallyport-lab-")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "lifeline")
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if err := os.Setenv(lifelineVariable, name); err != nil {
		return err
	}
	lifeline.dir, lifeline.file = dir, file
	return nil
}

func releaseDirectory(dir string) error {
	lifeline.Lock()
	defer lifeline.Unlock()
	lifeline.labs--
	if lifeline.labs > 0 {
		return os.RemoveAll(dir)
	}
	err := os.RemoveAll(lifeline.dir)
	_ = lifeline.file.Close()
	_ = os.Unsetenv(lifelineVariable)
	lifeline.dir, lifeline.file = "", nil
	return err
}
