package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// TestOutagesOneAfterAnother reads namespaces, roles and pods again soon after each
// outage, also where it was not the first: client-go waits for longer each time.
func TestOutagesOneAfterAnother(t *testing.T) {
	clustertest.CheckGoroutines(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{rule("", "secrets", "get")}}
	server := clustertest.NewServer(t, web(), namespace("shop", nil), role)
	c := newTestCached(t, server, WithRBAC(), WithFollow(func(string) follow.Options {
		return follow.Options{Clock: clock.RealClock{}, Log: logr.Discard()}
	}))
	run(t, c.Live)
	waitForSync(t, c.Live)
	const outages = 5
	for outage := range outages {
		account := fmt.Sprint("web-", outage)
		server.Refuse()
		gone, kept := namespace(account, nil), namespace("shop", map[string]string{"outage": fmt.Sprint(outage)})
		server.Set(kept, gone)
		server.Delete(gone, web())
		pod := web()
		pod.Name = account
		server.Set(pod, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: account}},
		})
		server.Forget()
		server.Answer()
		began := time.Now()
		if !clustertest.Eventually(within, func() bool {
			ns, ok := cached[*corev1.Namespace](c.namespaces, "shop")
			_, old := cached[*corev1.Pod](c.pods, "shop/web")
			_, again := cached[*corev1.Pod](c.pods, "shop/"+account)
			powers, err := c.ServiceAccountPowers(t.Context(), "shop", account)
			return ok && ns.Labels["outage"] == fmt.Sprint(outage) && !old && again && err == nil && len(powers) == 1
		}) {
			t.Fatalf("after outage %d not everything was read again", outage+1)
		}
		// By then client-go would wait for 12.8 s and more.
		if took := time.Since(began); outage == outages-1 && took > 10*time.Second {
			t.Errorf("after outage %d it took %s", outage+1, took)
		}
	}
}
