// Package e2e tries Sallyport as it is used: a real kube-apiserver asks it at
// both doors while real kubectl works.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// The people of the tests: alice is a developer, bob is bound to cluster-admin,
// root is a member of system:masters.
const (
	alice = "alice"
	bob   = "bob"
	root  = lab.Admin
)

// The lab that all tests share: Sallyport's doors are wired into it by each test
// as it needs them. binary is the program under test, and quick is it for tests that look
// at how fast answers come.
var (
	shared *lab.Lab
	binary string
	quick  string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sallyport-e2e-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	repository, err := lab.Root()
	if err != nil {
		return fail(err)
	}
	product, err := lab.BuildProduct(ctx, dir)
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := product.Races(); err != nil {
			code = fail(err)
		}
	}()
	binary, quick = product.Binary, product.Quick
	shared, err = startLab(ctx, lab.Options{
		Kubelet: true, Controllers: lab.OwnAccounts, Log: os.Stderr,
		Users: append(identityUsers, lab.User{Name: alice, Groups: []string{"developers"}}, lab.User{Name: bob}, lab.User{Name: "carol"}, lab.User{Name: "dave"}),
		CRDs:  []string{filepath.Join(repository, "config", "crd")},
	})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			code = fail(err)
		}
		if code == 0 && everyTest() {
			if err := allUsed(); err != nil {
				// Said only, until it is known which of these are used in some runs and not
				// in others.
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	for _, namespace := range []string{"shop", "monitoring"} {
		if err := shared.CreateNamespace(ctx, namespace, nil); err != nil {
			return fail(err)
		}
	}
	if err := shared.Apply(ctx, people+"---\n"+runningPods); err != nil {
		return fail(err)
	}
	if err := errors.Join(shared.AwaitRunning(ctx, "shop", "web", "privileged", "hostnet"), shared.AwaitRunning(ctx, "monitoring", "agent")); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// people gives alice what developers have, and bob everything.
const people = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: developer}
rules:
- {apiGroups: [""], resources: [pods, pods/status, pods/exec, pods/attach, pods/portforward, pods/proxy, pods/log, pods/ephemeralcontainers, events], verbs: ["*"]}
- {apiGroups: [apps], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: developers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: developer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: developers}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`
