package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

// within is how long the tests wait for a watch.
const within = 20 * time.Second

// run runs the watches until the test ends.
func run(t *testing.T, l *Live) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func waitForSync(t *testing.T, l *Live) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := l.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
}

func newTestCached(t *testing.T, server *clustertest.Server, options ...Option) *Cached {
	t.Helper()
	c, err := NewCached(server.Config(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCached(t *testing.T) {
	clustertest.CheckGoroutines(t)
	pod := web()
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	pod.Annotations = map[string]string{lastApplied: "{}", "keep": "me"}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}
	server := clustertest.NewServer(t, pod, namespace("shop", map[string]string{"team": "a"}))
	c := newTestCached(t, server)

	if c.HasSynced() {
		t.Error("has synced before it runs")
	}
	if got, err := c.Pod(t.Context(), "shop", "web"); err != nil || got.Status.PodIP == "" {
		t.Errorf("before it runs, pods are read live: %v, %v", got, err)
	}
	if pods, err := c.PodsOnNode(t.Context(), "node-1"); err != nil || len(pods) != 1 {
		t.Errorf("before it runs, nodes are read live: %v, %v", pods, err)
	}
	run(t, c.Live)
	waitForSync(t, c.Live)
	if !c.HasSynced() {
		t.Error("has not synced")
	}

	// From here on the server can be gone.
	server.Refuse()
	got, err := c.Pod(t.Context(), "shop", "web")
	if err != nil {
		t.Fatal(err)
	}
	want := web()
	want.TypeMeta = got.TypeMeta
	want.ResourceVersion = got.ResourceVersion
	want.Annotations = map[string]string{"keep": "me"}
	want.Status.Phase = corev1.PodRunning
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pod that is kept (-want +got):\n%s", diff)
	}
	if pods, err := c.PodsOnNode(t.Context(), "node-1"); err != nil || len(pods) != 1 || pods[0].Name != "web" {
		t.Errorf("pods of the node: %v, %v", pods, err)
	}
	if ns, err := c.Namespace(t.Context(), "shop"); err != nil || ns.Labels["team"] != "a" {
		t.Errorf("namespace: %v, %v", ns, err)
	}
	if _, err := c.Pod(t.Context(), "shop", "other"); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("a pod that is not kept is read live, and cannot be: %v", err)
	}

	server.Answer()
	server.Delete(web())
	server.Set(namespace("shop", map[string]string{"team": "b"}))
	if !clustertest.Eventually(within, func() bool {
		_, err := c.Pod(t.Context(), "shop", "web")
		ns, nsErr := c.Namespace(t.Context(), "shop")
		return apierrors.IsNotFound(err) && nsErr == nil && ns.Labels["team"] == "b"
	}) {
		t.Error("changes are not seen after the server came back")
	}
	if _, err := c.PodsOnNode(t.Context(), ""); err == nil {
		t.Error("the pods of no node were read")
	}
}

// TestCachedFallsBack shows that what the watch does not hold yet is read live.
func TestCachedFallsBack(t *testing.T) {
	server := clustertest.NewServer(t)
	c := newTestCached(t, server)
	run(t, c.Live)
	waitForSync(t, c.Live)
	server.Set(web(), namespace("shop", nil))
	if _, err := c.Pod(t.Context(), "shop", "web"); err != nil {
		t.Error(err)
	}
	if _, err := c.Namespace(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
}

func TestNamespaceInformer(t *testing.T) {
	clustertest.CheckGoroutines(t)
	server := clustertest.NewServer(t, namespace("shop", nil))
	live := newTestLive(t, server, WithNamespaceInformer())
	run(t, live)
	waitForSync(t, live)
	before := server.Requests()
	for range 10 {
		if _, err := live.Namespace(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
	}
	// The watch itself may still be on its way.
	if sent := server.Requests() - before; sent > 1 {
		t.Errorf("%d requests were sent for namespaces that are watched", sent)
	}
}

func TestWaitForSyncNamesWhatIsMissing(t *testing.T) {
	server := clustertest.NewServer(t)
	server.Status(403, 0)
	live := newTestLive(t, server, WithNamespaceInformer(), WithRBAC())
	run(t, live)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := live.WaitForSync(ctx)
	if err == nil || !isDeadline(err) || !strings.Contains(err.Error(), "namespaces, roles, clusterroles, rolebindings, clusterrolebindings") {
		t.Errorf("%v", err)
	}
	if _, err := live.ServiceAccountPowers(t.Context(), "shop", "web"); err == nil {
		t.Error("powers are known before roles were read")
	}
}

func TestRunTwice(t *testing.T) {
	live := newTestLive(t, clustertest.NewServer(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := live.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := live.Run(ctx); err == nil {
		t.Error("ran twice")
	}
}

func TestWatchedRBAC(t *testing.T) {
	clustertest.CheckGoroutines(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{rule("", "secrets", "get")}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "web"}},
	}
	server := clustertest.NewServer(t, role, binding)
	live := newTestLive(t, server, WithRBAC())
	run(t, live)
	waitForSync(t, live)
	powers := func() string {
		found, err := live.ServiceAccountPowers(t.Context(), "shop", "web")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(found, "\n")
	}
	if got, want := powers(), "may get secrets in every namespace (ClusterRoleBinding readers -> ClusterRole reader)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"the role changes", func() {
			changed := role.DeepCopy()
			changed.Rules = []rbacv1.PolicyRule{rule("", "pods/exec", "create")}
			server.Set(changed)
		}, "may exec into pods in every namespace (ClusterRoleBinding readers -> ClusterRole reader)"},
		{"the role goes, and the binding gives nothing", func() { server.Delete(role) }, ""},
		{"the role comes back", func() { server.Set(role) }, "may get secrets in every namespace (ClusterRoleBinding readers -> ClusterRole reader)"},
		{"the binding goes", func() { server.Delete(binding) }, ""},
	} {
		step.change()
		if !clustertest.Eventually(within, func() bool { return powers() == step.want }) {
			t.Errorf("%s: got %q, want %q", step.name, powers(), step.want)
		}
	}
}
