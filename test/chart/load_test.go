package chart_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/test/lab"
)

// counts are requests, by what became of them.
type counts struct{ letIn, refused, letInThough, failed int }

// load creates pods without pause, each in a dry run: ones that a policy lets in, and
// ones that it refuses.
type load struct {
	t      *testing.T
	client kubernetes.Interface
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex
	counts counts
	errors []string
}

func startLoad(t *testing.T, l *lab.Lab) *load {
	t.Helper()
	config := rest.CopyConfig(l.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	o := &load{t: t, client: client, stop: stop}
	for worker := range 4 {
		o.ended.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				o.one(ctx, fmt.Sprintf("p%d-%d", worker, n), n%2 == 1)
			}
		})
	}
	t.Cleanup(func() { stop(); o.ended.Wait() })
	return o
}

// one creates a pod and counts what became of that.
func (o *load) one(ctx context.Context, name string, privileged bool) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: "registry.example.com/app:1", SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
	}}}}
	_, err := o.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil && privileged:
		o.counts.letInThough++
	case err == nil:
		o.counts.letIn++
	case privileged && strings.Contains(err.Error(), "meet the baseline standard"):
		o.counts.refused++
	default:
		o.counts.failed++
		o.errors = append(o.errors, time.Now().Format("15:04:05.000 ")+err.Error())
	}
}

// now returns the counts so far.
func (o *load) now() counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts
}

// settled waits until so many more of both sorts have been answered since, and returns
// what became of these.
func (o *load) settled(more int) counts {
	o.t.Helper()
	from := o.now()
	var since counts
	eventually(o.t, "requests are answered", func(context.Context) bool {
		now := o.now()
		since = counts{now.letIn - from.letIn, now.refused - from.refused, now.letInThough - from.letInThough, now.failed - from.failed}
		return since.letIn+since.refused+since.letInThough+since.failed >= 2*more
	})
	return since
}

// outage does something by which requests may fail, and then waits until none does. What
// the policy refuses is never let in.
func (o *load) outage(what string, do func()) {
	o.t.Helper()
	from, began := o.now(), time.Now()
	do()
	o.quiet()
	now := o.now()
	o.t.Logf("%s: %s, %d requests failed", what, time.Since(began).Round(time.Second), now.failed-from.failed)
	if through := now.letInThough - from.letInThough; through > 0 {
		o.t.Errorf("%s: %d pods were let in that the policy refuses", what, through)
	}
}

// quiet waits until requests do not fail any more, and forgets those that did.
func (o *load) quiet() {
	o.t.Helper()
	for end := time.Now().Add(limit); o.settled(20).failed > 0; {
		if time.Now().After(end) {
			o.t.Fatal("requests go on failing")
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errors = nil
}

// during does something while requests are answered, and says how many were. None may
// fail, and what the policy refuses is let in only where it may be.
func (o *load) during(what string, mayLetIn bool, do func()) {
	o.t.Helper()
	from, began := o.now(), time.Now()
	do()
	o.settled(20)
	now := o.now()
	o.t.Logf("%s: %s, %d pods let in, %d refused, %d let in that the policy is about", what, time.Since(began).Round(time.Second),
		now.letIn-from.letIn, now.refused-from.refused, now.letInThough-from.letInThough)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.errors) > 0 {
		o.t.Errorf("%s: %d requests failed, such as\n%s", what, len(o.errors), strings.Join(o.errors[:min(len(o.errors), 5)], "\n"))
		o.errors = nil
	}
	if through := now.letInThough - from.letInThough; through > 0 && !mayLetIn {
		o.t.Errorf("%s: %d pods were let in that the policy refuses", what, through)
	}
}
