package cluster

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

func BenchmarkFilesPod(b *testing.B) {
	var objects []runtime.Object
	for i := range 10_000 {
		pod := web()
		pod.Name = fmt.Sprintf("web-%d", i)
		objects = append(objects, pod)
	}
	f := newTestFiles(b, objects...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Pod(b.Context(), "shop", "web-5000"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPerRequest is what one request pays: the wrapping, a first read and
// three that are remembered.
func BenchmarkPerRequest(b *testing.B) {
	f := newTestFiles(b, web())
	b.ReportAllocs()
	for b.Loop() {
		c := PerRequest(f)
		for range 4 {
			if _, err := c.Pod(b.Context(), "shop", "web"); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// manyBindings are bindings of a thousand accounts in a hundred namespaces.
func manyBindings(count int) rbacObjects {
	objects := rbacObjects{clusterRoles: []*rbacv1.ClusterRole{clusterRole("reader", rule("", "secrets", "get"), rule("apps", "deployments", "get"))}}
	for i := range count {
		namespace, name := fmt.Sprintf("ns-%d", i%100), fmt.Sprintf("sa-%d", i%1000)
		objects.roleBindings = append(objects.roleBindings, local(namespace, fmt.Sprintf("b-%d", i), "ClusterRole", "reader", account(namespace, name)))
	}
	return objects
}

func BenchmarkServiceAccountPowers(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		objects := manyBindings(count)
		book := newRoleBook(objects, false)
		b.Run(fmt.Sprintf("known/%d", count), func(b *testing.B) {
			index := newRBACIndex(objects, book)
			b.ReportAllocs()
			for b.Loop() {
				if len(index.powers("ns-50", "sa-50").powers) == 0 {
					b.Fatal("no powers")
				}
			}
		})
		// What the first question after a change costs.
		b.Run(fmt.Sprintf("changed/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				index := newRBACIndex(objects, newRoleBook(objects, false))
				if len(index.powers("ns-50", "sa-50").powers) == 0 {
					b.Fatal("no powers")
				}
			}
		})
	}
}

func BenchmarkLivePod(b *testing.B) {
	server := clustertest.NewServer(b, web())
	live, err := NewLive(server.Config())
	if err != nil {
		b.Fatal(err)
	}
	defer live.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := live.Pod(context.Background(), "shop", "web"); err != nil {
			b.Fatal(err)
		}
	}
}
