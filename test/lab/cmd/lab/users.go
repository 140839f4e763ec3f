package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sallyport-io/sallyport/test/lab"
)

const (
	alice = "alice"
	bob   = "bob"
)

var users = []lab.User{
	{Name: alice, UID: "u-alice", Groups: []string{"developers"}},
	{Name: bob, UID: "u-bob", Groups: []string{"operators"}},
}

// bindings make alice a developer of two namespaces and bob an administrator.
const bindings = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: developers}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: ops}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: developers}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

// trial is something to try, and what comes of it.
type trial struct {
	command string
	outcome string
	// code is the exit status, and says a part of what kubectl writes.
	code int
	says string
}

var trials = []trial{
	{"kubectl -n shop exec web-0 -- id", "allowed: nothing about this pod is risky", 0, "uid=10001"},
	{"kubectl -n shop exec cache-0 -- id", "allowed, and recorded with a warning: it runs as root", 0, "uid=0"},
	{"kubectl -n ops exec builder-0 -- id", "refused at the side door: it is privileged", 1, "too risky to enter"},
	{"kubectl -n ops port-forward router-0 :80", "refused at the side door: it is in the node's network", 1, "hostNetwork"},
	{"kubectl --context bob -n ops exec router-0 -- id", "refused, although bob is bound to cluster-admin", 1, "hostNetwork"},
	{"kubectl --context admin -n ops exec builder-0 -- id", "refused at the front door: system:masters skips the side door", 1, "too risky to enter"},
	{"kubectl -n shop run bad --image=registry.example.com/bad:1 --privileged", "refused at the front door: a privileged container", 1, "privileged"},
	{"kubectl -n shop create deployment web --image=registry.example.com/web:1", "allowed, with warnings about the restricted standard", 0, "Warning"},
}

// explain prints how to reach the lab and what to try.
func explain(ctx context.Context, l *lab.Lab) error {
	kubeconfig, err := l.Contexts(ctx, alice, bob, lab.Admin)
	if err != nil {
		return err
	}
	bin := filepath.Join(l.Dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(l.KubectlPath(), filepath.Join(bin, "kubectl")); err != nil {
		return err
	}
	fmt.Printf(`
The lab is up. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s:$PATH

Who you can be: alice, a developer of the namespaces shop and ops (as who you start);
bob, bound to cluster-admin; admin, a member of system:masters.

What to try:

`, kubeconfig, bin)
	for _, t := range trials {
		fmt.Printf("  %s\n      # %s\n", t.command, t.outcome)
	}
	fmt.Printf(`
Policies, read again when they change:   %s
Every decision that was not a plain allow:  %s
Sallyport's log:                         %s

Pods run no programs here: exec knows a few harmless commands. Ctrl-C ends all of it.
`, policies(l), audit(l), l.LogFile("sallyport"))
	return nil
}
