package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/sallyport-io/sallyport/lab/program"
)

// pods keeps the pods that are bound to the node running.
type pods struct {
	client   kubernetes.Interface
	address  string
	loop     *loop
	programs *program.Programs
}

func newPods(client kubernetes.Interface, boxes *sandboxes, node, address string) (*pods, error) {
	p := &pods{client: client, address: address}
	gone := func(pod *corev1.Pod) {
		boxes.remove(pod.UID)
		// Ending takes a moment, and other pods need not wait for it.
		go p.programs.Remove(pod.UID)
	}
	var err error
	p.loop, err = newLoop(client, "spec.nodeName", node, p.handle, gone)
	return p, err
}

// handle brings one pod on: it is deleted when that was asked for and its programs
// have ended, and marked as it is when it was not.
func (p *pods) handle(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil && p.programs.End(pod) {
		err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)),
			Preconditions:      &metav1.Preconditions{UID: &pod.UID},
		})
		if err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete: %w", err)
		}
		return nil
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	var state *program.State
	var err error
	if pod.DeletionTimestamp != nil {
		state = p.programs.State(pod.UID)
	} else if state, err = p.programs.Ensure(pod); err != nil {
		return err
	}
	status := statusOf(pod, p.address, state, metav1.Now().Rfc3339Copy())
	if apiequality.Semantic.DeepEqual(status, pod.Status) {
		return nil
	}
	changed := pod.DeepCopy()
	changed.Status = status
	if _, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

// get returns a pod of the node and whether there is one of that name.
func (p *pods) get(namespace, name string) (*corev1.Pod, bool) {
	pod, err := p.loop.lister.Pods(namespace).Get(name)
	return pod, err == nil
}

// list returns every pod of the node.
func (p *pods) list() (*corev1.PodList, error) {
	found, err := p.loop.lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, pod := range found {
		list.Items = append(list.Items, *pod)
	}
	return list, nil
}

// newBinder returns a loop that binds every pod without a node to this one:
// there is no scheduler.
func newBinder(client kubernetes.Interface, node string) (*loop, error) {
	bind := func(ctx context.Context, pod *corev1.Pod) error {
		if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 || pod.Spec.NodeName != "" {
			return nil
		}
		err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("bind: %w", err)
		}
		return nil
	}
	return newLoop(client, "spec.nodeName", "", bind, func(*corev1.Pod) {})
}
