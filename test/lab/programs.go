package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// ErrPrograms says that this machine does not let pods run programs, which need
// addresses, users and mounts of their own. Tests that need them are skipped then.
var ErrPrograms = errors.New("pods run programs only on Linux, as root with CAP_NET_ADMIN and CAP_SYS_ADMIN")

// programFlags are what the kubelet is told of the programs that pods run.
func (l *Lab) programFlags() []string {
	var flags []string
	for image, binary := range l.options.Programs {
		flags = append(flags, "--program", image+"="+binary)
	}
	return append(flags, "--log-dir", l.PodLogs())
}

// canRunPrograms returns what keeps the pods of a lab from running programs.
func canRunPrograms(options Options) error {
	if len(options.Programs) == 0 {
		return nil
	}
	if !options.Kubelet || options.Controllers == NoControllers {
		return errors.New("the option Programs needs Kubelet and Controllers: without them there are neither pods nor endpoints")
	}
	status, err := os.ReadFile("/proc/self/status")
	if runtime.GOOS != "linux" || err != nil || os.Geteuid() != 0 || !hasCapabilities(status) {
		return ErrPrograms
	}
	return nil
}

// hasCapabilities tells by the status of a process whether it may add addresses and
// mounts.
func hasCapabilities(status []byte) bool {
	const netAdmin, sysAdmin = 1 << 12, 1 << 21
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("CapEff:")); ok {
			have, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			return err == nil && have&netAdmin != 0 && have&sysAdmin != 0
		}
	}
	return false
}

// PodLogs returns the directory with what programs in pods have written, which
// stays when the pods go: NAMESPACE_POD_UID/CONTAINER/RESTART.log.
func (l *Lab) PodLogs() string { return filepath.Join(l.Dir, "logs", "pods") }

// PodLog returns what the programs in the pods of a namespace have written so far,
// those of pods that are gone included.
func (l *Lab) PodLog(namespace string) (string, error) {
	files, err := filepath.Glob(filepath.Join(l.PodLogs(), namespace+"_*", "*", "*.log"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	var all bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		name, err := filepath.Rel(l.PodLogs(), file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "=== %s\n%s\n", name, content)
	}
	return all.String(), nil
}
