package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// abandonVariable makes the test program start a lab and wait to be killed.
const abandonVariable = "SALLYPORT_LAB_TEST_ABANDON"

// abandon starts a lab with everything in it, writes where it stands and waits.
func abandon() int {
	ctx := context.Background()
	l, err := Start(ctx, Options{Kubelet: true, Controllers: OneAccount})
	if err == nil {
		err = l.Apply(ctx, "{apiVersion: v1, kind: Pod, metadata: {name: busy, namespace: default}, spec: {containers: [{name: app, image: app}]}}")
	}
	if err == nil {
		err = l.AwaitRunning(ctx, "default", "busy")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go l.Kubectl(ctx, Admin, "exec", "busy", "--", "sleep", "600")
	if err := awaitProcess(ctx, l.Dir, func(line string) bool { return strings.HasPrefix(line, "sleep\x00") }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(filepath.Dir(l.Dir))
	select {}
}

// belongingTo returns the command lines of the processes whose environment names
// a directory: all that were started for a lab there.
func belongingTo(dir string) []string {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, name := range environments {
		environment, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(environment, []byte(dir+"/")) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")); err == nil && len(line) > 0 {
			found = append(found, string(line))
		}
	}
	return found
}

func awaitProcess(ctx context.Context, dir string, is func(line string) bool) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		return slices.ContainsFunc(belongingTo(dir), is), nil
	})
}

func onlyLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("what runs is read from /proc")
	}
}

func TestStopLeavesNothing(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	l, err := Start(t.Context(), Options{Kubelet: true})
	if err != nil {
		t.Fatal(err)
	}
	watch := make(chan Result, 1)
	go func() { watch <- l.Kubectl(context.Background(), Admin, "get", "nodes", "--watch") }()
	if err := awaitProcess(t.Context(), l.Dir, func(line string) bool { return strings.Contains(line, "--watch") }); err != nil {
		t.Error(err)
	}
	if len(belongingTo(l.Dir)) == 0 {
		t.Error("no process of the lab was found while it ran")
	}
	began := time.Now()
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("stopping took %s", took)
	}
	<-watch
	if left := belongingTo(l.Dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	if _, err := os.Stat(l.Dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	if err := l.Stop(); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
}

func TestALabEndsWithTheProcessThatStartedIt(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	var stderr bytes.Buffer
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), abandonVariable+"=1")
	owner.Stderr = &stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	dir := strings.TrimSpace(line)
	running := len(belongingTo(dir))
	_ = owner.Process.Kill()
	_ = owner.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	// etcd, kube-apiserver, kube-controller-manager, kubelet, kubectl and sleep.
	if running < 6 {
		t.Errorf("%d processes ran, want at least 6", running)
	}
	var left []string
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		left = belongingTo(dir)
		_, err := os.Stat(dir)
		return len(left) == 0 && os.IsNotExist(err), nil
	})
	if err != nil {
		t.Fatalf("the lab outlived the process that started it: %q", left)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Authorization: "kind: AuthorizationConfiguration"})
	if err == nil || !strings.Contains(err.Error(), "AuthorizationConfiguration") {
		t.Fatalf("want an error with what kube-apiserver wrote, got %v", err)
	}
}
