package kubelet

import (
	"context"
	"fmt"
	"log"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/version"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

const (
	leaseSeconds  = 40
	leaseRenewal  = 10 * time.Second
	statusRenewal = 30 * time.Second
)

// node keeps one Node object present and ready.
type node struct {
	client  kubernetes.Interface
	name    string
	address string
	port    int
}

// register creates the Node, or takes over the one that is there, and returns
// once its status says that it is ready. Until ctx ends it tries again whatever
// the error, since right after its start the API server knows no roles yet.
func (n node) register(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = n.client.CoreV1().Nodes().Create(ctx, n.object(), metav1.CreateOptions{})
		if last != nil && !apierrors.IsAlreadyExists(last) {
			return false, nil
		}
		last = n.report(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("node %s was not registered: %w", n.name, last)
	}
	return nil
}

func (n node) object() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.name,
		Labels: map[string]string{
			corev1.LabelHostname:   n.name,
			corev1.LabelOSStable:   runtime.GOOS,
			corev1.LabelArchStable: runtime.GOARCH,
		},
	}}
}

// report writes the node's status as it is now.
func (n node) report(ctx context.Context) error {
	object, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("250"),
	}
	now := metav1.Now()
	since := now
	for _, c := range object.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime
		}
	}
	object.Status.Capacity, object.Status.Allocatable = room, room
	object.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: n.address},
		{Type: corev1.NodeHostName, Address: n.name},
	}
	object.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(n.port)
	object.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: version.Get().GitVersion, OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
		OSImage: "a stand-in", ContainerRuntimeVersion: "none://0",
	}
	object.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "the stand-in is posting ready status", LastHeartbeatTime: now, LastTransitionTime: since,
	}}
	_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}

// heartbeat renews the lease and the Ready condition until ctx ends.
func (n node) heartbeat(ctx context.Context) {
	renewal := lease.NewController(clock.RealClock{}, n.client, n.name, leaseSeconds, nil, leaseRenewal, n.name, corev1.NamespaceNodeLease, nil)
	done := make(chan struct{})
	go func() { defer close(done); renewal.Run(ctx) }()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := n.report(ctx); err != nil && ctx.Err() == nil {
			log.Printf("node %s: status not written: %v", n.name, err)
		}
	}, statusRenewal)
	<-done
}
