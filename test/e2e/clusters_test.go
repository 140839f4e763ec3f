package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

func TestTwoClusters(t *testing.T) {
	c := newTwoClusters(t)
	unknown := `cluster "` + memberCluster + `" is not known here`
	want(t, c.execs("privileged"), false, unknown)

	c.must(shared.Apply(t.Context(), `
apiVersion: sallyport.io/v1alpha1
kind: ClusterConfig
metadata: {name: member}
spec:
  clusterID: `+memberCluster+`
  tenant: team-a
  environment: production
  kubeconfigSecretRef: {name: member}
  callers: {commonNames: [`+memberCaller+`]}
`))
	c.awaits("SecretMissing")
	want(t, c.execs("privileged"), false, "were not read yet", "there is no Secret sallyport-system/member")

	c.keep(c.kubeconfig)
	c.awaits("Connected")
	// Each cluster is judged by its own pods, whatever the other's are called.
	want(t, c.execs("web"), false, "web is too risky, score 90: privilegedContainer")
	want(t, c.execs("privileged"), true, "inside")
	want(t, execInto(t, alice, "shop", "web"), true, "inside")
	want(t, execInto(t, alice, "shop", "privileged"), false, "privileged is too risky, score 90")

	t.Run("callers are bound", func(t *testing.T) {
		c := c.in(t)
		for _, tt := range []struct {
			by   *lab.Lab
			path string
			says string
		}{
			{shared, "/authorize/" + memberCluster, "may not ask for cluster"},
			{c.member, "/authorize", "may not ask for cluster"},
			{c.member, "/authorize/other", "may not ask for cluster"},
			{shared, "/authorize/other", `cluster \"other\" is not known here`},
		} {
			if body, _ := c.asks(tt.by, tt.path, "privileged"); !strings.Contains(body, `"denied":true`) || !strings.Contains(body, tt.says) {
				t.Errorf("%s: %s", tt.path, body)
			}
		}
	})
	t.Run("a policy for some clusters", func(t *testing.T) {
		c := c.in(t)
		c.must(shared.Apply(t.Context(), `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: members}
spec:
  appliesTo: {clusters: ["member-*"]}
  rules: [{verbs: [get], apiGroups: [""], resources: [pods], namespaces: {patterns: [shop]}}]
`))
		defer shared.Kubectl(t.Context(), root, "delete", "denypolicy", "members")
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		get := func(l *lab.Lab) lab.Result { return l.Kubectl(ctx, alice, "get", "pod", "-n", "shop", "web") }
		for r := get(c.member); !strings.Contains(r.Stderr, "DenyPolicy members"); r = get(c.member) {
			if ctx.Err() != nil {
				t.Fatalf("the policy did not come into force: %s", r)
			}
		}
		want(t, get(shared), true)
	})
	t.Run("the front door", func(t *testing.T) {
		c := c.in(t)
		c.must(c.member.WireAdmission(t.Context(), c.s, nil))
		t.Cleanup(func() { unwire(t, c.member.UnwireAdmission) })
		// No authorizer is asked about this user.
		into := func(pod string) lab.Result {
			return c.member.Kubectl(t.Context(), root, "exec", "-n", "shop", pod, "--", "echo", "inside")
		}
		want(t, into("web"), false, "admission webhook", "web is too risky, score 90")
		want(t, into("privileged"), true, "inside")
	})
	t.Run("another Secret is another connection", func(t *testing.T) {
		c := c.in(t)
		c.keep(strings.Replace(c.kubeconfig, "token:", "tokenFile:", 1))
		c.awaits("InvalidKubeconfig")
		want(t, c.execs("privileged"), false, "were not read yet", "tokenFile names a file of the server")
		c.keep(strings.Replace(c.kubeconfig, "token: ", "token: x", 1))
		c.awaits("Unauthorized")
		want(t, c.execs("privileged"), false, "were not read yet")
		c.keep(c.kubeconfig)
		c.awaits("Connected")
		want(t, c.execs("privileged"), true, "inside")
	})
	t.Run("one outage", func(t *testing.T) {
		c := c.in(t)
		before := c.hubTook()
		for _, fault := range []struct {
			name       string
			fail, mend func() error
		}{
			{"stands still", c.member.PauseAPIServer, c.member.ResumeAPIServer},
			{"is gone", func() error { return c.member.KillAPIServer(t.Context()) }, c.member.StartAPIServer},
		} {
			c.must(fault.fail())
			failed := make(chan string, 1)
			go func() {
				// What is asked while nobody knows of the outage yet must not hold up the hub.
				body, _ := c.asks(c.member, "/authorize/"+memberCluster, "privileged")
				failed <- body
			}()
			if during := c.hubTook(); during > 5*before+50*time.Millisecond {
				t.Errorf("%s: the hub's own cluster was answered in %s, and in %s before", fault.name, during, before)
			}
			if body := <-failed; !strings.Contains(body, `"denied":true`) {
				t.Errorf("%s: %s", fault.name, body)
			}
			c.awaits("Unreachable")
			if took := c.memberDenied("did not answer the last health check"); took > 500*time.Millisecond {
				t.Errorf("%s: the denial took %s", fault.name, took)
			}
			c.must(fault.mend())
			c.awaits("Connected")
		}
		want(t, c.execs("privileged"), true, "inside")
	})
	t.Run("metrics", func(t *testing.T) {
		c := c.in(t)
		_, metrics, err := c.s.Get(t.Context(), "/metrics")
		c.must(err)
		for _, line := range []string{`sallyport_cluster_up{cluster="member-lab"} 1`, `sallyport_pod_security_denied_total{cluster="member-lab",policy="risk"}`} {
			if !strings.Contains(metrics, line) {
				t.Errorf("the metrics lack %s", line)
			}
		}
	})
	r := shared.Kubectl(t.Context(), root, "delete", "clusterconfig", "member")
	want(t, r, true)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for r = c.execs("privileged"); !strings.Contains(r.Stderr, unknown); r = c.execs("privileged") {
		if ctx.Err() != nil {
			t.Fatalf("the cluster is still known: %s", r)
		}
	}
}
