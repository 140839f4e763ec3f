package lab

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// CreateNamespace creates a namespace, unless it is there, and returns when pods
// can be created in it.
func (l *Lab) CreateNamespace(ctx context.Context, name string, labels map[string]string) error {
	_, err := l.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if l.options.Controllers == NoControllers {
		return nil
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := l.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// AwaitRunning returns when the pods of these names run.
func (l *Lab) AwaitRunning(ctx context.Context, namespace string, names ...string) error {
	for _, name := range names {
		var last string
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
			pod, err := l.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				last = err.Error()
				return false, nil
			}
			last = "phase " + string(pod.Status.Phase)
			return pod.Status.Phase == corev1.PodRunning, nil
		})
		if err != nil {
			return fmt.Errorf("pod %s/%s does not run: %s: %w", namespace, name, last, err)
		}
	}
	return nil
}
