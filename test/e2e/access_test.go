package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// unwire takes a door out of the API server when the test's own context has
// ended already.
func unwire(t *testing.T, take func(context.Context) error) {
	t.Helper()
	if err := take(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// deleteAfter deletes objects when the test is over, so that no other test meets
// them. The arguments are those of kubectl delete.
func deleteAfter(t *testing.T, args ...string) {
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if r := shared.Kubectl(ctx, root, append([]string{"delete", "--ignore-not-found"}, args...)...); !r.OK() {
			t.Errorf("what the test made is still there: %s", r)
		}
	})
}

func execInto(t *testing.T, user, namespace, pod string, env ...string) lab.Result {
	t.Helper()
	return shared.Run(t.Context(), lab.Kubectl{User: user, Env: env, Args: []string{"exec", "-n", namespace, pod, "--", "echo", "inside"}})
}

// The scenarios of the document "Pod Security Risk Classification", at each door.
func TestScenarios(t *testing.T) {
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			guard(t, door, riskPolicy)
			for _, streaming := range []struct {
				name string
				env  []string
			}{{"WebSocket", nil}, {"SPDY", lab.SPDY}} {
				t.Run("risk score denial by "+streaming.name, func(t *testing.T) {
					want(t, execInto(t, alice, "shop", "privileged", streaming.env...), false, "privileged is too risky, score 90: privilegedContainer", "DenyPolicy risk", "spec.containers[0].securityContext.privileged")
				})
				t.Run("safe pod allowed by "+streaming.name, func(t *testing.T) {
					want(t, execInto(t, alice, "shop", "web", streaming.env...), true, "inside")
				})
			}
			t.Run("block factor denial", func(t *testing.T) {
				want(t, execInto(t, alice, "shop", "hostnet"), false, "hostNetwork")
			})
			t.Run("namespace exemption", func(t *testing.T) {
				want(t, execInto(t, alice, "monitoring", "agent"), true, "inside")
			})
			t.Run("attach", func(t *testing.T) {
				want(t, shared.Kubectl(t.Context(), alice, "attach", "-n", "shop", "privileged"), false, "too risky, score 90")
			})
			t.Run("port-forward", func(t *testing.T) {
				want(t, shared.Kubectl(t.Context(), alice, "port-forward", "-n", "shop", "pod/privileged", "0:80"), false, "too risky, score 90")
			})
			t.Run("cp", func(t *testing.T) {
				want(t, shared.Kubectl(t.Context(), alice, "cp", "-n", "shop", "privileged:etc/hosts", t.TempDir()+"/hosts"), false, "too risky, score 90")
			})
			t.Run("a user bound to cluster-admin", func(t *testing.T) {
				want(t, execInto(t, bob, "shop", "privileged"), false, "too risky, score 90")
			})
			t.Run("system:masters skips authorizers and no admission", func(t *testing.T) {
				if door == accessDoor {
					want(t, execInto(t, root, "shop", "privileged"), true, "inside")
				} else {
					want(t, execInto(t, root, "shop", "privileged"), false, "too risky, score 90")
				}
			})
		})
	}
}

func TestSubresourceScope(t *testing.T) {
	scoped := strings.Replace(riskPolicy, "riskFactors:", "appliesTo: {subresources: [attach]}\n    riskFactors:", 1)
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			guard(t, door, scoped)
			want(t, execInto(t, alice, "shop", "privileged"), true, "inside")
			want(t, shared.Kubectl(t.Context(), alice, "attach", "-n", "shop", "privileged"), false, "too risky, score 90")
		})
	}
}

// The pod cannot be read: Sallyport's account may not.
func TestFailMode(t *testing.T) {
	for _, door := range []string{accessDoor, admissionDoor} {
		for mode, ok := range map[string]bool{"closed": false, "open": true} {
			t.Run(door+" "+mode, func(t *testing.T) {
				guard(t, door, strings.Replace(riskPolicy, "exemptions:", "failMode: "+mode+"\n    exemptions:", 1))
				forbid(t, "pods")
				if ok {
					want(t, execInto(t, alice, "shop", "web"), true, "inside")
				} else {
					want(t, execInto(t, alice, "shop", "web"), false, "failMode closed")
				}
			})
		}
	}
}

// forbid takes the right to read a resource from Sallyport until the test ends.
func forbid(t *testing.T, resource string) {
	t.Helper()
	role := func(r string) string {
		return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: sallyport}, rules: [
		  {apiGroups: [""], resources: [` + r + `], verbs: [get, list, watch]},
		  {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]},
		  {apiGroups: [rbac.authorization.k8s.io], resources: ["*"], verbs: [get, list, watch]},
		  {apiGroups: [sallyport.io], resources: ["*"], verbs: ["*"]}]}`
	}
	all := "pods, namespaces, nodes, services, serviceaccounts"
	if err := shared.Apply(t.Context(), role(strings.Replace(all, resource+", ", "", 1))); err != nil {
		t.Fatal(err)
	}
	awaitRight(t, resource, false)
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error { return shared.Apply(ctx, lab.SallyportRole()) })
		awaitRight(t, resource, true)
	})
}

func awaitRight(t *testing.T, resource string, may bool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	deadline, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		r := shared.Kubectl(ctx, root, "auth", "can-i", "get", resource, "-n", "shop", "--as", lab.SallyportUser)
		if strings.TrimSpace(r.Stdout) == map[bool]string{true: "yes", false: "no"}[may] {
			return
		}
		if deadline.Err() != nil {
			t.Fatalf("RBAC did not come into force: %s", r)
		}
	}
}

func TestDebug(t *testing.T) {
	debugged := strings.Replace(riskPolicy, "riskFactors:", "appliesTo: {subresources: [ephemeralcontainers, exec, attach]}\n    riskFactors:", 1)
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			guard(t, door, debugged)
			want(t, shared.Kubectl(t.Context(), alice, "debug", "-n", "shop", "privileged", "--image=busybox", "--", "true"), false, "too risky, score 90")
			want(t, shared.Kubectl(t.Context(), alice, "debug", "-n", "shop", "web", "--image=busybox", "--", "true"), true)
		})
	}
}

// Labels that exempt a pod are a right, by whichever way they are set: on the
// pod, in a template, or with the pod's status.
func TestExemptLabels(t *testing.T) {
	guard(t, bothDoors, strings.Replace(riskPolicy, "exemptions: {", `exemptions: {podLabels: {exempt: "yes"}, `, 1))
	label := func(user string, more ...string) lab.Result {
		return shared.Kubectl(t.Context(), user, append([]string{"label", "-n", "shop", "pod", "privileged", "exempt=yes"}, more...)...)
	}
	want(t, label(alice), false, "may not set them", "exempt")
	want(t, shared.Kubectl(t.Context(), alice, "patch", "-n", "shop", "pod", "privileged", "--subresource=status", "-p", `{"metadata":{"labels":{"exempt":"yes"}}}`), false, "may not set them")
	want(t, execInto(t, alice, "shop", "privileged"), false, "too risky")
	want(t, label(bob), true)
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "label", "-n", "shop", "pod", "privileged", "exempt-")
			return nil
		})
	})
	want(t, execInto(t, alice, "shop", "privileged"), true, "inside")
}
