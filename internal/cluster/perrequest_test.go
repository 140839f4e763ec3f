package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// counting counts the reads of the cluster that it stands for.
type counting struct {
	request.Cluster
	reads atomic.Int64
}

func (c *counting) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	c.reads.Add(1)
	return c.Cluster.Pod(ctx, namespace, name)
}

func (c *counting) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	c.reads.Add(1)
	return c.Cluster.PodsOnNode(ctx, node)
}

func (c *counting) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	c.reads.Add(1)
	return c.Cluster.Namespace(ctx, name)
}

func (c *counting) ServiceAccountPowers(ctx context.Context, namespace, name string) ([]string, error) {
	c.reads.Add(1)
	return c.Cluster.ServiceAccountPowers(ctx, namespace, name)
}

func TestPerRequestReadsOnce(t *testing.T) {
	errBroken := errors.New("broken")
	for name, inner := range map[string]request.Cluster{
		"values": newTestFiles(t, web(), namespace("shop", nil), everywhere("b", "ClusterRole", "edit", account("shop", "web"))),
		"errors": clustertest.Failing(errBroken),
	} {
		t.Run(name, func(t *testing.T) {
			counter := &counting{Cluster: inner}
			c := PerRequest(counter)
			for range 3 {
				_, podErr := c.Pod(t.Context(), "shop", "web")
				_, nodeErr := c.PodsOnNode(t.Context(), "node-1")
				_, namespaceErr := c.Namespace(t.Context(), "shop")
				powers, powersErr := c.ServiceAccountPowers(t.Context(), "shop", "web")
				for _, err := range []error{podErr, nodeErr, namespaceErr, powersErr} {
					if (err != nil) != (name == "errors") || err != nil && !errors.Is(err, errBroken) {
						t.Errorf("%v", err)
					}
				}
				if (len(powers) == 0) != (name == "errors") {
					t.Errorf("powers: %v", powers)
				}
			}
			if got := counter.reads.Load(); got != 4 {
				t.Errorf("%d reads, want 4", got)
			}
			_, _ = c.Pod(t.Context(), "shop", "other")
			_, _ = c.Pod(t.Context(), "other", "web")
			if got := counter.reads.Load(); got != 6 {
				t.Errorf("%d reads, want 6: other pods are read on their own", got)
			}
			if PerRequest(c) != c {
				t.Error("wraps what is wrapped")
			}
		})
	}
	if PerRequest(nil) != nil {
		t.Error("wraps nil")
	}
}

// waiting is a cluster whose reads wait until they are let go or given up.
type waiting struct {
	counting
	started chan struct{}
	release chan struct{}
}

func newWaiting(inner request.Cluster) *waiting {
	return &waiting{counting: counting{Cluster: inner}, started: make(chan struct{}, 100), release: make(chan struct{})}
}

func (w *waiting) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	w.started <- struct{}{}
	select {
	case <-w.release:
		return w.counting.Pod(ctx, namespace, name)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestPerRequestSharesReads(t *testing.T) {
	inner := newWaiting(newTestFiles(t, web()))
	c := PerRequest(inner)
	pods := make([]*corev1.Pod, 20)
	var readers sync.WaitGroup
	for i := range pods {
		readers.Go(func() { pods[i], _ = c.Pod(t.Context(), "shop", "web") })
	}
	<-inner.started
	close(inner.release)
	readers.Wait()
	if got := inner.reads.Load(); got != 1 {
		t.Errorf("%d reads, want 1", got)
	}
	if slices.Contains(pods, nil) || len(slices.Compact(pods)) != 1 {
		t.Error("the readers do not agree")
	}
}

// TestPerRequestOutlivesAReader: who gives up decides for nobody else, neither
// for those who wait for the same read nor for those who come later.
func TestPerRequestOutlivesAReader(t *testing.T) {
	inner := newWaiting(newTestFiles(t, web()))
	c := PerRequest(inner)
	hasty, giveUp := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	readers.Go(func() {
		if _, err := c.Pod(hasty, "shop", "web"); !errors.Is(err, context.Canceled) {
			t.Errorf("the hasty reader: %v", err)
		}
	})
	<-inner.started
	waiter, stopWaiting := context.WithCancel(t.Context())
	stopWaiting()
	if _, err := c.Pod(waiter, "shop", "web"); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that waits no longer: %v", err)
	}
	readers.Go(func() {
		if _, err := c.Pod(t.Context(), "shop", "web"); err != nil {
			t.Errorf("the patient reader: %v", err)
		}
	})
	giveUp()
	<-inner.started
	close(inner.release)
	readers.Wait()
	if _, err := c.Pod(t.Context(), "shop", "web"); err != nil || inner.reads.Load() != 1 {
		t.Errorf("a later reader: %v after %d reads", err, inner.reads.Load())
	}
}

// crashing is a cluster whose reads of pods panic.
type crashing struct{ request.Cluster }

func (crashing) Pod(context.Context, string, string) (*corev1.Pod, error) { panic("crash") }

func TestPerRequestSurvivesACrash(t *testing.T) {
	c := PerRequest(crashing{newTestFiles(t)})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the crash was swallowed")
			}
		}()
		_, _ = c.Pod(t.Context(), "shop", "web")
	}()
	if pod, err := c.Pod(t.Context(), "shop", "web"); err == nil || pod != nil {
		t.Errorf("after a crash: %v, %v", pod, err)
	}
}
