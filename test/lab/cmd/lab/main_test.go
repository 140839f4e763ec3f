package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatIsPrintedIsTrue starts the program as `make lab` does, types in what it
// says to try, interrupts it, and looks for what it left behind.
func TestWhatIsPrintedIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	binary := filepath.Join(t.TempDir(), "lab")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	var stderr bytes.Buffer
	program := exec.Command(binary)
	program.Stderr = &stderr
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	lines := bufio.NewScanner(stdout)
	var env []string
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
		if assignment, ok := strings.CutPrefix(lines.Text(), "  export "); ok {
			env = append(env, os.ExpandEnv(assignment))
		}
		if strings.Contains(lines.Text(), "Ctrl-C") {
			break
		}
	}
	if len(env) != 2 {
		_ = program.Process.Kill()
		_ = program.Wait()
		t.Fatalf("the lab did not come up:\n%s%s", printed.String(), stderr.String())
	}

	for _, trial := range trials {
		if !strings.Contains(printed.String(), "  "+trial.command+"\n") {
			t.Errorf("%q was not printed", trial.command)
		}
		command := exec.Command("sh", "-c", trial.command)
		command.Env = append(os.Environ(), env...)
		out, err := command.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := command.ProcessState.ExitCode(); code != trial.code || !strings.Contains(string(out), trial.says) {
			t.Errorf("%s\nwant exit status %d and %q, got %d and %s", trial.command, trial.code, trial.says, code, out)
		}
	}

	if err := program.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
	}
	if err := program.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, printed.String(), stderr.String())
	}
	if !strings.Contains(printed.String(), "everything has ended") {
		t.Errorf("the end was not announced:\n%s", printed.String())
	}
	dir := filepath.Dir(filepath.Dir(strings.TrimPrefix(env[0], "KUBECONFIG=")))
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environments {
		if content, err := os.ReadFile(name); err == nil && bytes.Contains(content, []byte(dir)) {
			t.Errorf("a process is left: %s", name)
		}
	}
}
