package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownMounts are attributes of a process that sees mounts and a name of the machine of
// its own, in a process group of its own, and that ends when this process does.
func ownMounts() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
}

// Contain becomes the program that a file describes, in a root file system of its
// own, and returns an exit status only where that fails.
func Contain(args []string) int {
	if err := contain(args); err != nil {
		fmt.Fprintln(os.Stderr, "container:", err)
		return 128
	}
	return 0
}

func contain(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one file, got %d arguments", len(args))
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var l launch
	if err := json.Unmarshal(content, &l); err != nil {
		return err
	}
	if err := apart(); err != nil {
		return err
	}
	name := "/" + filepath.Base(l.Binary)
	if err := l.mountAll(append([]mount{{Source: l.Binary, Path: name, ReadOnly: true}}, l.Mounts...)); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(l.Host)); err != nil {
		return fmt.Errorf("host name %s: %w", l.Host, err)
	}
	// What is set of a thread has to be of the one that becomes the program.
	runtime.LockOSThread()
	if err := unix.Chroot(l.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := l.become(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", name, unix.Exec(name, append([]string{name}, l.Args...), l.Env))
}

// apart makes sure that no mount is seen by others: whoever deletes the directory of
// a pod would go on into what is mounted there.
func apart() error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if err != nil {
		return err
	}
	if own == parents {
		return errors.New("this process has no mounts of its own")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts from others: %w", err)
	}
	return nil
}

// mountAll puts what the program sees into its root.
func (l *launch) mountAll(mounts []mount) error {
	if err := unix.Mount(l.Root, l.Root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", l.Root, err)
	}
	for _, m := range mounts {
		target := filepath.Join(l.Root, m.Path)
		if err := placeFor(m.Source, target); err != nil {
			return err
		}
		if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.Source, m.Path, err)
		}
		if m.ReadOnly {
			if err := readOnly(target); err != nil {
				return err
			}
		}
	}
	if l.ReadOnly {
		return readOnly(l.Root)
	}
	return nil
}

func readOnly(target string) error {
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", target, err)
	}
	return nil
}

// placeFor makes a directory, or a file, that a source of its sort can be mounted at.
func placeFor(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// become takes the user and groups that the program runs as.
func (l *launch) become() error {
	if err := syscall.Setgroups(l.Groups); err != nil {
		return fmt.Errorf("groups %v: %w", l.Groups, err)
	}
	if err := syscall.Setgid(l.Group); err != nil {
		return fmt.Errorf("group %d: %w", l.Group, err)
	}
	if err := syscall.Setuid(l.User); err != nil {
		return fmt.Errorf("user %d: %w", l.User, err)
	}
	if l.NoNewRights {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new rights: %w", err)
		}
	}
	// Another user has this taken away.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
