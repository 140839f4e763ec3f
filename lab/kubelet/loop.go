package kubelet

import (
	"context"
	"log"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const workers = 4

// loop watches some pods and handles each that changes, again and again until
// that went without an error.
type loop struct {
	factory informers.SharedInformerFactory
	lister  listers.PodLister
	queue   workqueue.TypedRateLimitingInterface[string]
	handle  func(context.Context, *corev1.Pod) error
	gone    func(*corev1.Pod)
}

// newLoop watches the pods for which a field has a value: a node's account may
// list only those that are bound to it.
func newLoop(client kubernetes.Interface, field, value string, handle func(context.Context, *corev1.Pod) error, gone func(*corev1.Pod)) (*loop, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(field, value).String()
	}))
	l := &loop{
		factory: factory, handle: handle, gone: gone,
		lister: factory.Core().V1().Pods().Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	add := func(o any) { l.queue.Add(cache.MetaObjectToName(o.(*corev1.Pod)).String()) }
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, o any) { add(o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			if pod, ok := o.(*corev1.Pod); ok {
				l.gone(pod)
			}
		},
	})
	return l, err
}

// look has a pod handled though it has not changed.
func (l *loop) look(namespace, name string) {
	l.queue.Add(cache.ObjectName{Namespace: namespace, Name: name}.String())
}

// run works until ctx ends, and returns when every watch is closed.
func (l *loop) run(ctx context.Context) {
	l.factory.Start(ctx.Done())
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	group.Wait()
	l.factory.Shutdown()
}

func (l *loop) next(ctx context.Context) bool {
	key, quit := l.queue.Get()
	if quit {
		return false
	}
	defer l.queue.Done(key)
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return true
	}
	pod, err := l.lister.Pods(namespace).Get(name)
	if err == nil {
		err = l.handle(ctx, pod)
	}
	if err == nil || apierrors.IsNotFound(err) {
		l.queue.Forget(key)
		return true
	}
	// A conflict says that a newer version of the pod is on its way here.
	if ctx.Err() == nil && !apierrors.IsConflict(err) {
		log.Printf("pod %s: %v", key, err)
	}
	l.queue.AddRateLimited(key)
	return true
}
