package lab

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// shared is the lab of every test in this package that can do with any.
var shared *Lab

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	var err error
	shared, err = Start(ctx, Options{
		Kubelet: true, Log: os.Stderr,
		Users: []User{
			{Name: "alice@example.com", UID: "u-alice", Groups: []string{"developers", "oncall"}},
			{Name: "carol", Groups: []string{"developers"}, Certificate: true},
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestKubectlReachesTheAPIServer(t *testing.T) {
	result := shared.Kubectl(t.Context(), Admin, "get", "namespaces", "--output", "name")
	if !result.OK() || result.Stdout == "" {
		t.Fatal(result)
	}
	t.Log(shared.Kubectl(t.Context(), Admin, "get", "nodes", "-o", "wide"))
	t.Log(shared.Kubectl(t.Context(), Admin, "auth", "whoami"))
	t.Log(shared.Kubectl(t.Context(), "alice@example.com", "auth", "whoami"))
	t.Log(shared.Kubectl(t.Context(), "carol", "auth", "whoami"))
	t.Log(shared.Kubectl(t.Context(), Admin, "run", "web", "--image=nginx"))
	t.Log(shared.Kubectl(t.Context(), Admin, "wait", "--for=condition=Ready", "pod/web"))
	t.Log(shared.Kubectl(t.Context(), Admin, "get", "pods", "-o", "wide"))
	t.Log(shared.Kubectl(t.Context(), Admin, "exec", "web", "--", "sh", "-c", "pwd; exit 3"))
}
