package lab

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// shared is the lab of every test in this package that can do with any.
var shared *Lab

const alice = "alice@example.com"

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	if os.Getenv(abandonVariable) != "" {
		return abandon()
	}
	if os.Getenv(fakeVariable) != "" {
		fmt.Fprintln(os.Stderr, serveFake())
		return 1
	}
	flag.Parse()
	if testing.Short() {
		fmt.Println("not run: every test here needs a control plane")
		return 0
	}
	ctx := context.Background()
	var err error
	shared, err = Start(ctx, Options{
		Kubelet: true, Audit: true, Log: os.Stderr, NodeAddress: outsideLoopback(),
		Users: []User{
			{Name: alice, UID: "u-alice", Groups: []string{"developers", "oncall"}},
			{Name: "carol", Groups: []string{"developers"}, Certificate: true},
		},
	})
	if err == nil {
		err = shared.Apply(ctx, pods)
	}
	if err == nil {
		err = shared.AwaitRunning(ctx, "shop", "web", "many")
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if shared != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// pods are those that the tests get into.
const pods = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  nodeName: lab-node
  containers:
  - {name: app, image: registry.example.com/web:1, env: [{name: COLOUR, value: green}], ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: many, namespace: shop}
spec:
  initContainers:
  - {name: prepare, image: registry.example.com/prepare:1}
  - {name: sidecar, image: registry.example.com/sidecar:1, restartPolicy: Always}
  containers:
  - {name: first, image: registry.example.com/first:1}
  - {name: second, image: registry.example.com/second:1}
`

// want fails the test unless kubectl ended with this status and its output holds
// the text.
func (r Result) want(t *testing.T, code int, text string) {
	t.Helper()
	if r.Code != code || !strings.Contains(r.Stdout+r.Stderr, text) {
		t.Fatalf("want exit status %d and %q, got %s", code, text, r)
	}
}

func TestKubectlRunsAsEveryUser(t *testing.T) {
	ctx := t.Context()
	shared.Kubectl(ctx, Admin, "get", "namespaces", "--output=name").want(t, 0, "namespace/shop")
	shared.Kubectl(ctx, Admin, "get", "nodes").want(t, 0, "Ready")
	shared.Kubectl(ctx, Admin, "auth", "whoami").want(t, 0, "system:masters")
	shared.Kubectl(ctx, alice, "auth", "whoami").want(t, 0, "u-alice")
	shared.Kubectl(ctx, alice, "get", "pods").want(t, 1, "forbidden")
	shared.Kubectl(ctx, "carol", "auth", "whoami").want(t, 0, "[developers system:authenticated]")
	shared.Kubectl(ctx, Admin, "create", "serviceaccount", "robot", "--namespace=shop").want(t, 0, "created")
	shared.Kubectl(ctx, "system:serviceaccount:shop:robot", "auth", "whoami").want(t, 0, "system:serviceaccount:shop:robot")
	shared.Kubectl(ctx, "mallory", "auth", "whoami").want(t, -1, `without a user "mallory"`)
}

func TestKubectlDoesNotSeeThePersonWhoTests(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	t.Setenv("HOME", "/nonexistent")
	shared.Kubectl(t.Context(), Admin, "version", "--output=json").want(t, 0, `"gitVersion": "v1.37.2"`)
}

func TestPodsRunToTheirEnd(t *testing.T) {
	ctx := t.Context()
	get := func(path string) string {
		return shared.Kubectl(ctx, Admin, "get", "pod", "many", "--namespace=shop", "--output=jsonpath="+path).Stdout
	}
	for path, want := range map[string]string{
		`{.spec.nodeName}`: NodeName,
		`{.status.initContainerStatuses[?(@.name=="prepare")].state.terminated.reason}`: "Completed",
		`{.status.initContainerStatuses[?(@.name=="sidecar")].started}`:                 "true",
		`{.status.containerStatuses[*].ready}`:                                          "true true",
		`{.status.conditions[?(@.type=="Ready")].status}`:                               "True",
	} {
		if got := get(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	shared.Kubectl(ctx, Admin, "run", "brief", "--namespace=shop", "--image=registry.example.com/brief:1").want(t, 0, "created")
	if err := shared.AwaitRunning(ctx, "shop", "brief"); err != nil {
		t.Fatal(err)
	}
	shared.Kubectl(ctx, Admin, "delete", "pod", "brief", "--namespace=shop", "--timeout=30s").want(t, 0, "deleted")
	shared.Kubectl(ctx, Admin, "get", "pod", "brief", "--namespace=shop").want(t, 1, "NotFound")
}
