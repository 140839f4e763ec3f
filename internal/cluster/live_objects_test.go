package cluster_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

// TestServiceAccountsAndOwners reads what identities are decided by.
func TestServiceAccountsAndOwners(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", Annotations: map[string]string{"a": "b"}}}
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
	server := clustertest.NewServer(t, account, owner)
	live, err := cluster.NewLive(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	state := cluster.PerRequest(live)
	before := server.Requests()
	for range 2 {
		got, err := state.ServiceAccount(t.Context(), "shop", "app")
		if err != nil || got.Annotations["a"] != "b" {
			t.Fatalf("%v, %v", got, err)
		}
		raw, err := state.Object(t.Context(), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), "shop", "web")
		if err != nil || !strings.Contains(string(raw), `"uid":"u1"`) {
			t.Fatalf("%s, %v", raw, err)
		}
	}
	if n := server.Requests() - before; n != 2 {
		t.Errorf("%d requests for two objects", n)
	}
	if _, err := live.ServiceAccount(t.Context(), "shop", "gone"); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	if _, err := live.Object(t.Context(), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), "shop", "gone"); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	for _, empty := range [][2]string{{"", "app"}, {"shop", ""}} {
		if _, err := live.ServiceAccount(t.Context(), empty[0], empty[1]); err == nil {
			t.Errorf("%v is read", empty)
		}
		if _, err := live.Object(t.Context(), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), empty[0], empty[1]); err == nil {
			t.Errorf("%v is read", empty)
		}
	}
	if _, err := live.Object(t.Context(), metav1.SchemeGroupVersion.WithKind("Nothing"), "shop", "web"); err == nil {
		t.Error("an unknown kind is read")
	}
}

// TestFilesHaveTheDefaultAccount is about accounts that stand in no file.
func TestFilesHaveTheDefaultAccount(t *testing.T) {
	files, err := cluster.NewFiles(nil)
	if err != nil {
		t.Fatal(err)
	}
	if account, err := files.ServiceAccount(t.Context(), "shop", "default"); err != nil || account.Namespace != "shop" {
		t.Errorf("%v, %v", account, err)
	}
	if _, err := files.ServiceAccount(t.Context(), "shop", "app"); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}
