//go:build long

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/test/lab"
)

// leftOut are the things that the wiring leaves out: nothing of it is ever refused,
// whatever Sallyport is up to.
func leftOut(t *testing.T, w *wiredLab) map[string]func(ctx context.Context, try string) error {
	t.Helper()
	kubelet := as(t, w.lab, root, rest.ImpersonationConfig{UserName: "system:node:" + lab.NodeName, Groups: []string{"system:nodes", "system:authenticated"}})
	controller := as(t, w.lab, root, rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:replicaset-controller", Groups: []string{"system:serviceaccounts", "system:authenticated"}})
	bob := as(t, w.lab, "bob", rest.ImpersonationConfig{})
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	var mirror corev1.Pod
	w.must(yaml.Unmarshal([]byte(w.mirror("kube-system", "static", "")), &mirror))
	labels := func(try string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"labels":{"mended":"%s"}}}`, try)
	}
	return map[string]func(ctx context.Context, try string) error{
		"a node's status": func(ctx context.Context, try string) error {
			_, err := kubelet.CoreV1().Nodes().Patch(ctx, lab.NodeName, types.MergePatchType, fmt.Appendf(nil, `{"status":{"nodeInfo":{"machineID":"%s"}}}`, try), metav1.PatchOptions{}, "status")
			return err
		},
		"a mirror pod": func(ctx context.Context, try string) error {
			node, err := kubelet.CoreV1().Nodes().Get(ctx, lab.NodeName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			pod := mirror.DeepCopy()
			pod.Name += "-" + try
			pod.OwnerReferences[0].UID = node.UID
			_, err = kubelet.CoreV1().Pods(pod.Namespace).Create(ctx, pod, dryRun)
			return err
		},
		"a node's lease": func(ctx context.Context, try string) error {
			_, err := kubelet.CoordinationV1().Leases("kube-node-lease").Patch(ctx, lab.NodeName, types.MergePatchType, labels(try), metav1.PatchOptions{})
			return err
		},
		"a lease of the control plane": func(ctx context.Context, try string) error {
			_, err := bob.CoordinationV1().Leases("kube-system").Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "kept-" + try}}, dryRun)
			return err
		},
		"a controller's pod in kube-system": func(ctx context.Context, try string) error {
			_, err := controller.CoreV1().Pods("kube-system").Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "kept-" + try, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app", UID: "5d1a9a3c-0000-4000-8000-000000000000", Controller: new(true)}}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}},
			}, dryRun)
			return err
		},
		"Sallyport's role is mended": func(ctx context.Context, try string) error {
			_, err := bob.RbacV1().ClusterRoles().Patch(ctx, "sallyport", types.MergePatchType, labels(try), metav1.PatchOptions{})
			return err
		},
		"Sallyport's Deployment is mended": func(ctx context.Context, try string) error {
			_, err := bob.AppsV1().Deployments("sallyport-system").Patch(ctx, "app", types.MergePatchType, labels(try), metav1.PatchOptions{})
			return err
		},
		"people read": func(ctx context.Context, _ string) error {
			_, err := bob.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
			return err
		},
	}
}

// notYet is an answer that has nothing to do with Sallyport: there is no node, or an
// API server that was started just now knows no roles.
func notYet(err error, warming bool) bool {
	said := err.Error()
	if strings.HasSuffix(said, `"`+lab.NodeName+`" not found`) {
		return true
	}
	return warming && !strings.Contains(said, "webhook") && !strings.Contains(said, "Sallyport") && !strings.Contains(said, "refused")
}

// refused says in the test when something was refused that is left out.
func (s *starts) refused(ctx context.Context, name string, try func(ctx context.Context, try string) error) {
	for ctx.Err() == nil {
		warming := s.warming.Load()
		err := try(ctx, fmt.Sprint(s.tries.Add(1)))
		// A read that was broken off is sent again, and may end in another time than it
		// began in.
		warming = warming || s.warming.Load()
		switch {
		case err == nil:
			s.kept.Add(1)
		case unanswered(err) || ctx.Err() != nil || notYet(err, warming):
			s.pause(ctx)
		default:
			s.wronged.Add(1)
			s.Errorf("%s was refused: %v", name, err)
		}
		s.pause(ctx)
	}
}
