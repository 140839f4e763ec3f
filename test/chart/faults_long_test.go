//go:build long

package chart_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// skewed is the repository of the image whose clock is wrong by SKEW seconds.
const skewed = "ghcr.io/sallyport-io/skewed"

// TestFaultsLong has three replicas of the chart suffer what clusters suffer, while pods are
// made without pause. Each answer counts: what the policy refuses is never let in; nothing
// fails where a replica is up and the API server itself answers; and after each fault all
// replicas have in force what is written then.
func TestFaultsLong(t *testing.T) {
	c := newRunning(t, map[string]string{image: product.Quick, skewed: buildSkewed(t)})
	c.replicas = 3
	between := c.between()
	host, port, err := net.SplitHostPort(between.Address())
	if err != nil {
		t.Fatal(err)
	}
	values := []string{set("minimal"), file(t, fmt.Sprintf(`
replicas: 3
templateKey: {existingSecret: template-key}
extraArgs: [--certificate-overlap=4s]
# Replicas reach the API server by what can be cut and slowed.
extraEnv: [{name: KUBERNETES_SERVICE_HOST, value: %q}, {name: KUBERNETES_SERVICE_PORT, value: %q}]
`, host, port))}
	c.release.upgrade(values...)
	c.rolledOut()
	c.filledIn(admissionregistrationv1.Fail)
	c.policy()
	c.load = startLoad(t, c.lab)

	for _, fault := range []struct {
		name string
		// away says that the API server does not answer, or that the replica which was
		// asked is gone: requests may fail then.
		away bool
		does func()
	}{
		{"rolling restart", false, func() {
			c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "rollout", "restart", "deployment/sallyport"))
			c.rolledOut()
		}},
		{"the leader is killed", true, func() {
			leader := c.leader()
			began := time.Now()
			c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "delete", "pod", leader, "--grace-period=0", "--force"))
			eventually(t, "another leads", func(context.Context) bool { now := c.leader(); return now != "" && now != leader })
			t.Logf("another replica leads after %s", time.Since(began).Round(100*time.Millisecond))
			c.rolledOut()
		}},
		{"another CA", false, c.rotate},
		{"the API server is killed and started again", true, func() {
			if err := c.lab.KillAPIServer(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.lab.StartAPIServer(); err != nil {
				t.Fatal(err)
			}
		}},
		{"etcd stands still for 10 s", true, func() {
			if err := c.lab.PauseEtcd(); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Second)
			if err := c.lab.ResumeEtcd(); err != nil {
				t.Fatal(err)
			}
		}},
		{"watches are cut, three times", false, func() {
			for range 3 {
				between.Cut()
				if err := between.Restore(); err != nil {
					t.Fatal(err)
				}
				c.load.settled(50)
			}
		}},
		{"500 policies at once", false, c.manyPolicies},
		{"a policy that cannot work", false, c.policyThatCannotWork},
		{"the disk of the audit log is full", false, func() {
			c.release.upgrade(append(values, file(t, "auditLog: /dev/full\n"))...)
			c.rolledOut()
			eventually(t, "events fail to be written", func(ctx context.Context) bool {
				return c.metric(ctx, `sallyport_audit_events_total{outcome="failed"}`) > 0
			})
			c.release.upgrade(values...)
			c.rolledOut()
		}},
		{"clocks an hour ahead and an hour behind", false, c.wrongClocks},
		{"the API server is slow while replicas start", false, func() {
			between.Slow(200 * time.Millisecond)
			c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "rollout", "restart", "deployment/sallyport"))
			c.rolledOut()
			between.Slow(0)
		}},
	} {
		t.Logf("%s", fault.name)
		if fault.away {
			c.load.outage(fault.name, fault.does)
		} else {
			c.load.during(fault.name, false, fault.does)
		}
		c.holds(fault.name)
	}
	if log := c.log(); strings.Contains(log, "forbidden") {
		t.Errorf("something was forbidden:\n%s", grep(log, "forbidden"))
	}
}

// between is a relay between the replicas and the API server.
func (c *runningChart) between() *lab.Relay {
	c.Helper()
	server, err := url.Parse(c.lab.Config.Host)
	if err != nil {
		c.Fatal(err)
	}
	between, err := lab.NewRelay(server.Host)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(between.Close)
	return between
}

// holds writes a policy after a fault, waits until every replica has it in force, and takes
// it away again.
func (c *runningChart) holds(after string) {
	c.Helper()
	began := time.Now()
	policy := strings.ReplaceAll(labelled, "NAME", "after")
	eventually(c.T, "a policy is taken after "+after, func(ctx context.Context) bool {
		return c.lab.Run(ctx, lab.Kubectl{User: lab.Admin, Args: []string{"apply", "-f", "-"}, Stdin: strings.NewReader(policy)}).OK()
	})
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "wait", "clusterpolicy/after", "--for=condition=Enforced", "--timeout=120s"))
	if r := c.lab.Kubectl(c.Context(), lab.Admin, "run", "after", "--image=registry.example.com/app:1", "--labels=held=yes", "--dry-run=server"); r.OK() || !strings.Contains(r.String(), "held pods are owned") {
		c.Errorf("after %s a policy is enforced that lets in what it refuses: %s", after, r)
	}
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "delete", "clusterpolicy", "after"))
	c.Logf("after %s, a policy was in force on every replica within %s", after, time.Since(began).Round(100*time.Millisecond))
}

// labelled is about pods that the load does not make.
const labelled = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: NAME, labels: {many: "yes"}}
spec:
  validationFailureAction: Enforce
  rules:
  - name: owned
    match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {held: "yes"}}}}]}
    validate: {message: held pods are owned, pattern: {metadata: {labels: {owner: "?*"}}}}
`

// manyPolicies writes 500 policies at once, waits until all are in force, and takes them
// away.
func (c *runningChart) manyPolicies() {
	var all strings.Builder
	for n := range 500 {
		fmt.Fprintf(&all, "---%s", strings.ReplaceAll(labelled, "NAME", fmt.Sprintf("many-%d", n)))
	}
	r := c.lab.Run(c.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"create", "-f", "-"}, Stdin: strings.NewReader(all.String())})
	if !r.OK() {
		c.Fatal(r)
	}
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "wait", "clusterpolicy", "-l", "many", "--for=condition=Enforced", "--timeout=240s"))
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "delete", "clusterpolicy", "-l", "many"))
}

// policyThatCannotWork writes one whose module is not to be had. What it is about is refused
// by its name; nothing else is.
func (c *runningChart) policyThatCannotWork() {
	manifest := `
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere, labels: {broken: "yes"}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: broken}
spec:
  module: registry://127.0.0.1:1/none:1
  mutating: false
  namespaceSelector: {matchLabels: {broken: "yes"}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
`
	if err := c.lab.Apply(c.Context(), manifest); err != nil {
		c.Fatal(err)
	}
	eventually(c.T, "what a broken policy is about is refused by its name", func(ctx context.Context) bool {
		r := c.lab.Kubectl(ctx, lab.Admin, "-n", "elsewhere", "run", "a", "--image=registry.example.com/app:1", "--dry-run=server")
		return !r.OK() && strings.Contains(r.String(), "broken")
	})
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "delete", "clusteradmissionpolicy/broken", "namespace/elsewhere"))
}
