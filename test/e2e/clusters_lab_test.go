package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

const (
	memberCluster = "member-lab"
	memberCaller  = "member-apiserver"
	memberAccount = "system:serviceaccount:sallyport-system:sallyport-member"
)

// twoClusters is a Sallyport that takes policies and ClusterConfigs from the shared
// lab, its own cluster, and is asked by a second lab as well.
type twoClusters struct {
	*testing.T
	s      *lab.Sallyport
	member *lab.Lab
	// kubeconfig of the account that the second lab is read by.
	kubeconfig string
}

// memberPods have the names of those in the shared lab and the other spec each: a
// decision by the wrong cluster's pod comes out the other way round.
const memberPods = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]
---
apiVersion: v1
kind: Pod
metadata: {name: privileged, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/web:1}]
`

// hubAccount lets the shared lab's Sallyport read Secrets of its own namespace.
const hubAccount = `
apiVersion: v1
kind: Namespace
metadata: {name: sallyport-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lab, namespace: sallyport-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sallyport-clusters}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + lab.SallyportUser + `}]
`

func newTwoClusters(t *testing.T) *twoClusters {
	t.Helper()
	ctx := t.Context()
	repository, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	shipped := func(path ...string) string {
		content, err := os.ReadFile(filepath.Join(append([]string{repository, "config", "rbac"}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	c := &twoClusters{T: t}
	c.member, err = startLab(ctx, lab.Options{
		Kubelet: true, Cluster: memberCluster, Caller: memberCaller, Users: []lab.User{{Name: alice, Groups: []string{"developers"}}, {Name: "dave"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.member.Stop(); err != nil {
			t.Error(err)
		}
	})
	c.must(c.member.CreateNamespace(ctx, "shop", nil))
	c.must(c.member.Apply(ctx, people+"---\n"+memberPods+"---\n"+shipped("member", "member.yaml")))
	c.must(c.member.AwaitRunning(ctx, "shop", "web", "privileged"))
	file, err := c.member.Kubeconfig(ctx, memberAccount)
	c.must(err)
	content, err := os.ReadFile(file)
	c.must(err)
	c.kubeconfig = string(content)

	c.must(shared.Apply(ctx, hubAccount))
	c.must(shared.Apply(ctx, shipped("features", "secrets.yaml")+"---\n"+riskPolicy))
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "denypolicy", "risk", "--ignore-not-found")
			shared.Kubectl(ctx, root, "delete", "clusterconfigs", "--all")
			shared.Kubectl(ctx, root, "delete", "namespace", "sallyport-system", "--wait=false")
			return nil
		})
	})
	callers := filepath.Join(t.TempDir(), "callers.crt")
	var pem []byte
	for _, l := range []*lab.Lab{shared, c.member} {
		one, err := os.ReadFile(l.CallerCA())
		c.must(err)
		pem = append(pem, one...)
	}
	c.must(os.WriteFile(callers, pem, 0o600))
	c.s, err = shared.StartSallyport(ctx, lab.SallyportOptions{
		Binary: binary, Name: "two-clusters", Args: []string{"--cluster-name", "hub-lab", "--client-ca-file", callers},
	})
	c.must(err)
	t.Cleanup(func() {
		if err := c.s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(c.s.Log())
		}
	})
	c.must(shared.WireAccess(ctx, c.s, wiring.Authorizer{Everything: true}))
	t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
	c.must(c.member.WireAccess(ctx, c.s, wiring.Authorizer{Everything: true, Exempt: []string{memberAccount}}))
	return c
}

func (c *twoClusters) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// keep puts a kubeconfig into the Secret of the member's ClusterConfig.
func (c *twoClusters) keep(kubeconfig string) {
	c.Helper()
	quoted, err := json.Marshal(kubeconfig)
	c.must(err)
	c.must(shared.Apply(c.Context(), "apiVersion: v1\nkind: Secret\nmetadata: {name: member, namespace: sallyport-system}\nstringData: {value: "+string(quoted)+"}\n"))
}

// awaits waits until the Ready condition of the member's ClusterConfig has a
// reason.
func (c *twoClusters) awaits(reason string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), waitLimit)
	defer cancel()
	for {
		r := shared.Kubectl(ctx, root, "get", "clusterconfig", "member", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")]}`)
		if strings.Contains(r.Stdout, `"reason":"`+reason+`"`) {
			return
		}
		if ctx.Err() != nil {
			c.Fatalf("the ClusterConfig did not come to %s: %s", reason, r)
		}
	}
}

// execs tries to get into a pod of the member.
func (c *twoClusters) execs(pod string) lab.Result {
	c.Helper()
	return c.member.Kubectl(c.Context(), alice, "exec", "-n", "shop", pod, "--", "echo", "inside")
}

// asks sends a review as the API server of a lab would, and says how long the
// answer took.
func (c *twoClusters) asks(by *lab.Lab, path, pod string) (string, time.Duration) {
	c.Helper()
	client, err := by.ClientOf(c.s)
	c.must(err)
	defer client.CloseIdleConnections()
	review := fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","groups":["developers"],`+
		`"resourceAttributes":{"namespace":"shop","verb":"create","version":"v1","resource":"pods","subresource":"exec","name":%q}}}`, pod)
	began := time.Now()
	response, err := client.Post(c.s.URL+path, "application/json", strings.NewReader(review))
	c.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	c.must(err)
	if response.StatusCode != http.StatusOK {
		c.Fatalf("%s: status %d: %s", path, response.StatusCode, body)
	}
	return string(body), time.Since(began)
}

// hubTook is the median of several answers about the hub's own cluster, all of
// which must be right.
func (c *twoClusters) hubTook() time.Duration {
	c.Helper()
	var times []time.Duration
	for range 15 {
		body, took := c.asks(shared, "/authorize", "web")
		if strings.Contains(body, `"denied":true`) {
			c.Fatalf("the hub's own cluster: %s", body)
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// memberDenied sends reviews about the member, whose pods cannot be read, and
// returns how long the last answer took.
func (c *twoClusters) memberDenied(why string) time.Duration {
	c.Helper()
	var last time.Duration
	for range 5 {
		body, took := c.asks(c.member, "/authorize/"+memberCluster, "privileged")
		if !strings.Contains(body, `"denied":true`) || !strings.Contains(body, why) {
			c.Fatalf("want a denial that says %q: %s", why, body)
		}
		last = took
	}
	return last
}

// in is the same for a subtest.
func (c *twoClusters) in(t *testing.T) *twoClusters {
	inner := *c
	inner.T = t
	return &inner
}
