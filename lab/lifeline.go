package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// lifelineVariable names a file that whoever starts a lab keeps locked for as
// long as it lives. It stands in a directory of its own, with everything that
// the lab writes, whose name starts with lifelinePrefix.
const (
	lifelineVariable = "SALLYPORT_LAB_LIFELINE"
	lifelinePrefix   = "sallyport-lab-"
)

// holdLifeline makes this process end as soon as the one that started the lab is
// gone, however that came about, and take the lab's directory with it. Without a
// lifeline it does nothing.
func holdLifeline() error {
	name := os.Getenv(lifelineVariable)
	if name == "" {
		return nil
	}
	dir := filepath.Dir(name)
	if !strings.HasPrefix(filepath.Base(dir), lifelinePrefix) {
		return fmt.Errorf("%s is %q, which does not stand in the directory of a lab", lifelineVariable, name)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("the lab that this process belongs to is gone: %w", err)
	}
	go func() {
		for {
			err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		runtime.KeepAlive(file)
		// The others may still be writing for a moment.
		for range 20 {
			if os.RemoveAll(dir) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	return nil
}
