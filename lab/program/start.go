package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// launch is what a program is started with, in a file.
type launch struct {
	Binary, Root, Host string
	Args, Env          []string
	Mounts             []mount
	ReadOnly           bool
	User, Group        int
	Groups             []int
	NoNewRights        bool
}

// mount is a directory, or a file, of this machine that the program sees at a path.
type mount struct {
	Source, Path string
	ReadOnly     bool
}

// started is a program that runs. code counts once done is closed.
type started struct {
	process *os.Process
	done    chan struct{}
	code    int
}

// start starts the program for the nth time.
func (c *container) start(n int) (*started, error) {
	l, err := c.launch()
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(c.instance.dir, c.spec.Name+".json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := c.output(n)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(self, "container", file)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownMounts()
	p := &started{done: make(chan struct{})}
	begun := make(chan error)
	go func() {
		// What the system does when a parent ends, it does when the thread ends that
		// started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.process = cmd.Process
		begun <- err
		if err != nil {
			return
		}
		p.code = exitCode(cmd.Wait())
		close(p.done)
	}()
	return p, <-begun
}

func (p *started) terminate() { _ = p.process.Signal(syscall.SIGTERM) }

func (p *started) kill() { _ = syscall.Kill(-p.process.Pid, syscall.SIGKILL) }

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 255
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// fromThisMachine is what every container sees of it, where it is there.
var fromThisMachine = []mount{
	{Source: "/proc", Path: "/proc"}, {Source: "/dev/null", Path: "/dev/null"}, {Source: "/dev/full", Path: "/dev/full"}, {Source: "/dev/urandom", Path: "/dev/urandom"},
	{Source: "/etc/ssl", Path: "/etc/ssl", ReadOnly: true},
	{Source: "/etc/hosts", Path: "/etc/hosts", ReadOnly: true}, {Source: "/etc/resolv.conf", Path: "/etc/resolv.conf", ReadOnly: true},
}

// launch works out what the program is started with. Its root file system has the
// program, what is mounted, and nothing else.
func (c *container) launch() (launch, error) {
	pod := c.instance.pod
	l := launch{
		Binary: c.instance.programs.binaryOf(c.spec.Image), Root: filepath.Join(c.instance.dir, "root", c.spec.Name),
		Host: pod.Name,
		Args: c.args, Env: c.env,
	}
	for _, m := range fromThisMachine {
		if _, err := os.Stat(m.Source); err == nil {
			l.Mounts = append(l.Mounts, m)
		}
	}
	for _, m := range c.spec.VolumeMounts {
		if m.SubPathExpr != "" || m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
			return l, fmt.Errorf("volumeMounts %s: subPathExpr and mountPropagation are not known here", m.Name)
		}
		l.Mounts = append(l.Mounts, mount{Source: filepath.Join(c.instance.volumes.path(m.Name), m.SubPath), Path: m.MountPath, ReadOnly: m.ReadOnly})
	}
	if s := pod.Spec.SecurityContext; s != nil {
		l.set(s.RunAsUser, s.RunAsGroup)
		for _, group := range s.SupplementalGroups {
			l.Groups = append(l.Groups, int(group))
		}
		if s.FSGroup != nil {
			l.Groups = append(l.Groups, int(*s.FSGroup))
		}
	}
	if s := c.spec.SecurityContext; s != nil {
		l.set(s.RunAsUser, s.RunAsGroup)
		l.ReadOnly = s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
		l.NoNewRights = s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation
	}
	return l, os.MkdirAll(l.Root, 0o755)
}

func (l *launch) set(user, group *int64) {
	if user != nil {
		l.User = int(*user)
	}
	if group != nil {
		l.Group = int(*group)
	}
}
