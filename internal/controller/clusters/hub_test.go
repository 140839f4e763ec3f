package clusters

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// runHub makes a hub that ends with the test, and everything in it.
func runHub(t *testing.T, clock clock.WithTickerAndDelayedExecution) *Hub {
	t.Helper()
	clustertest.CheckGoroutines(t)
	h := NewHub(Options{Own: "Hub", Clock: clock, Log: logr.Discard()})
	t.Cleanup(h.Close)
	return h
}

// world is an API server with the pod shop/web, which runs on a node, and the
// namespaces.
func world(t *testing.T, node string) *clustertest.Server {
	t.Helper()
	return clustertest.NewServer(t,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{NodeName: node}})
}

func kubeconfigOf(s *clustertest.Server) []byte {
	return []byte(kubeconfig(`server: "`+s.Config().Host+`"`, "token: t"))
}

// nodeOf reads on which node the pod of a cluster runs: which of the worlds it is.
func nodeOf(t *testing.T, c *Cluster) string {
	t.Helper()
	pod, err := c.Reader.Pod(t.Context(), "shop", "web")
	if err != nil {
		t.Fatal(err)
	}
	return pod.Spec.NodeName
}

func TestReplace(t *testing.T) {
	h := runHub(t, clocktesting.NewFakeClock(noon))
	one, two := world(t, "one"), world(t, "two")
	callers := []string{"api-a", "api-b"}
	a := Definition{ID: "a", Tenant: "t", Callers: &callers, Kubeconfig: kubeconfigOf(one)}
	b := Definition{ID: "b", Kubeconfig: kubeconfigOf(two)}
	if taken := h.Replace("api", []Definition{a, b}); len(taken) > 0 {
		t.Fatalf("taken: %+v", taken)
	}
	if got := nodeOf(t, h.Find("a")) + " " + nodeOf(t, h.Find("b")); got != "one two" {
		t.Fatalf("the clusters are %s", got)
	}
	for _, name := range []string{"", "A", "c", "Hub"} {
		if h.Find(name) != nil {
			t.Errorf("there is a cluster %q", name)
		}
	}

	t.Run("what does not change keeps its connection", func(t *testing.T) {
		before := h.Find("a").link
		a.Tenant = "u"
		h.Replace("api", []Definition{a, b})
		if after := h.Find("a"); after.link != before || after.Tenant != "u" {
			t.Error("another tenant made another connection, or was not accepted")
		}
	})
	t.Run("another kubeconfig is another connection", func(t *testing.T) {
		old := h.Find("a")
		a.Kubeconfig = kubeconfigOf(two)
		h.Replace("api", []Definition{a, b})
		if got := nodeOf(t, h.Find("a")); got != "two" {
			t.Errorf("it leads to %s", got)
		}
		// A decision that began with the old one ends with it.
		if got := nodeOf(t, old); got != "one" {
			t.Errorf("the old one leads to %s", got)
		}
	})
	t.Run("a kubeconfig that cannot be used", func(t *testing.T) {
		a.Kubeconfig = []byte(kubeconfig(`server: "https://x"`, "exec: {command: sh}"))
		h.Replace("api", []Definition{a, b})
		c := h.Find("a")
		if _, err := c.Reader.Pod(t.Context(), "shop", "web"); err == nil || !strings.Contains(err.Error(), "runs a program") {
			t.Errorf("error %v", err)
		}
		if _, err := c.Authorizer.Allowed(t.Context(), request.User{}, request.Attributes{}); err == nil {
			t.Error("it was asked whether somebody may")
		}
		if health := c.Health(); health.Reason != ReasonInvalidKubeconfig {
			t.Errorf("health %+v", health)
		}
	})
	t.Run("names that are taken", func(t *testing.T) {
		other := []string{"api-c"}
		taken := h.Replace("api", []Definition{a, b, {ID: "B", Callers: &other}, {ID: "hub"}})
		if len(taken) != 2 || taken[0].ID != "B" || taken[1].ID != "hub" {
			t.Errorf("taken: %+v", taken)
		}
		if clusters, bound := h.BoundTo("api-c"); !bound || len(clusters) > 0 {
			t.Errorf("the caller of a cluster that does not count is bound to %v, %v", clusters, bound)
		}
		if taken := h.Replace("files", []Definition{{ID: "b"}}); len(taken) != 1 {
			t.Errorf("a name of an earlier origin was given again: %+v", taken)
		}
	})
	if clusters, bound := h.BoundTo("api-b"); !bound || !cmp.Equal(clusters, []string{"a"}) {
		t.Errorf("api-b is bound to %v", clusters)
	}
	if _, bound := h.BoundTo("api"); bound {
		t.Error("somebody who is not named is bound")
	}
	h.Replace("api", nil)
	if h.Find("a") != nil {
		t.Error("a cluster that is gone is found")
	}
}

// TestOutage says that a cluster which does not answer fails at once, that the
// other does not notice, and that it is read again when it answers.
func TestOutage(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	h := runHub(t, clock)
	one, two := world(t, "one"), world(t, "two")
	h.Replace("api", []Definition{{ID: "a", Kubeconfig: kubeconfigOf(one)}, {ID: "b", Kubeconfig: kubeconfigOf(two)}})
	a, b := h.Find("a"), h.Find("b")
	await(t, func() bool { return a.link.monitor.health.Load().Ready() && b.link.monitor.health.Load().Ready() })
	one.Refuse()
	if _, err := a.Reader.Pod(t.Context(), "shop", "web"); err == nil {
		t.Fatal("a cluster that is away was read")
	}
	await(t, func() bool { clock.Step(firstPause); return a.link.monitor.outage() != nil })
	began := time.Now()
	for range 1000 {
		if _, err := a.Reader.Namespace(t.Context(), "shop"); !errors.Is(err, ErrUnreachable) {
			t.Fatalf("error %v", err)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("1,000 reads of a cluster that is away took %s", took)
	}
	if got := nodeOf(t, b); got != "two" {
		t.Errorf("the other leads to %s", got)
	}
	if _, unreachable := a.Refused(); unreachable < 1000 {
		t.Errorf("%d reads were counted", unreachable)
	}
	one.Answer()
	await(t, func() bool { clock.Step(longestPause); return a.link.monitor.outage() == nil })
	if got := nodeOf(t, a); got != "one" {
		t.Errorf("it leads to %s", got)
	}
}

// TestBounded says that a cluster which hangs holds up no more reads than are
// allowed, and that further ones fail soon.
func TestBounded(t *testing.T) {
	h := runHub(t, clocktesting.NewFakeClock(noon))
	one := world(t, "one")
	h.Replace("api", []Definition{{ID: "a", Kubeconfig: kubeconfigOf(one)}})
	a := h.Find("a")
	await(t, func() bool { return a.Health().Reason == ReasonConnected })
	one.Hang()
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxReads {
		waiting.Go(func() { _, _ = a.Reader.Pod(ctx, "shop", "web") })
	}
	await(t, func() bool { return len(a.link.places) == maxReads })
	_, err := a.Reader.Pod(t.Context(), "shop", "web")
	if err == nil || !strings.Contains(err.Error(), "128 reads of it are under way") {
		t.Errorf("error %v", err)
	}
	if busy, _ := a.Refused(); busy != 1 {
		t.Errorf("%d reads were counted", busy)
	}
	cancel()
	waiting.Wait()
	one.Answer()
	if got := nodeOf(t, a); got != "one" {
		t.Errorf("it leads to %s", got)
	}
}

// TestRoles says that roles are watched from when somebody asks for them.
func TestRoles(t *testing.T) {
	h := runHub(t, clocktesting.NewFakeClock(noon))
	one := world(t, "one")
	one.Set(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "admin"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "default"}, {Kind: "User", APIGroup: rbacv1.GroupName, Name: "alice"}}})
	h.Replace("api", []Definition{{ID: "a", Kubeconfig: kubeconfigOf(one)}})
	a := h.Find("a")
	if a.link.roles != nil {
		t.Error("roles are watched before anybody asked")
	}
	powers, err := a.Reader.ServiceAccountPowers(t.Context(), "shop", "default")
	if err != nil || len(powers) == 0 {
		t.Errorf("powers %v, error %v", powers, err)
	}
	_, roles, err := a.link.RolesOf(t.Context(), request.User{Name: "alice"}, "shop")
	if err != nil || !cmp.Equal(roles, []string{"admin"}) {
		t.Errorf("roles %v, error %v", roles, err)
	}
	h.Replace("api", nil)
	await(t, func() bool {
		_, err := a.Reader.ServiceAccountPowers(t.Context(), "shop", "default")
		return err != nil
	})
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	if !clustertest.Eventually(20*time.Second, condition) {
		t.Fatal("it did not come to that")
	}
}

// BenchmarkRead is what the bounds of a cluster cost a read that is answered from
// memory.
func BenchmarkRead(b *testing.B) {
	l := &link{id: "a", ctx: context.Background(), places: make(chan struct{}, maxReads), refused: &refusals{}, monitor: newMonitor(nil, clock.RealClock{}, func() {})}
	for b.Loop() {
		if _, err := through(b.Context(), l, func() (int, error) { return 1, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
