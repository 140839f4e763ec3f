package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A program that ended is started again at once, then after a second, and after
// twice as long each time. One that has run for as long as a while begins again.
const (
	firstDelay   = time.Second
	longestDelay = 5 * time.Minute
	while        = 10 * time.Minute
)

// container is one container that is a program.
type container struct {
	instance *instance
	spec     corev1.Container
	logs     string
	args     []string
	env      []string

	mu  sync.Mutex
	now corev1.ContainerStatus
}

func newContainer(i *instance, spec corev1.Container, logs string) *container {
	return &container{instance: i, spec: spec, logs: logs, now: corev1.ContainerStatus{
		Name: spec.Name, Image: spec.Image, ImageID: "lab://" + spec.Image, Started: new(false),
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	}}
}

func (c *container) status() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.now.DeepCopy()
}

// set changes the status and has the pod looked at where that made a difference.
func (c *container) set(change func(*corev1.ContainerStatus)) {
	c.mu.Lock()
	before := c.now.DeepCopy()
	change(&c.now)
	same := before.String() == c.now.String()
	c.mu.Unlock()
	if !same {
		c.instance.changed()
	}
}

func (c *container) waits(reason, message string) {
	c.set(func(s *corev1.ContainerStatus) {
		s.Ready = false
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

func (c *container) logFile(n int) string { return filepath.Join(c.logs, fmt.Sprintf("%d.log", n)) }

// run runs the program again and again, as the pod's restart policy says, until the
// pod is to end.
func (c *container) run() {
	delay := time.Duration(0)
	for n := 0; ; n++ {
		began := time.Now()
		code := c.once(n)
		policy := c.instance.pod.Spec.RestartPolicy
		if c.instance.ctx.Err() != nil || policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && code == 0 {
			return
		}
		if time.Since(began) > while {
			delay = 0
		}
		if delay > 0 {
			c.waits("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container", delay))
		}
		select {
		case <-c.instance.ctx.Done():
			return
		case <-time.After(delay):
		}
		delay = min(max(2*delay, firstDelay), longestDelay)
	}
}

// once runs the program for the nth time, and returns its exit status when it has ended.
func (c *container) once(n int) int {
	began := metav1.Now().Rfc3339Copy()
	id := fmt.Sprintf("lab://%s.%s.%d", c.instance.pod.UID, c.spec.Name, n)
	ends := func(code int, reason, message string) int {
		c.set(func(s *corev1.ContainerStatus) {
			s.Ready, s.Started, s.ContainerID = false, new(false), id
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: int32(code), Reason: reason, Message: message, ContainerID: id,
				StartedAt: began, FinishedAt: metav1.Now().Rfc3339Copy(),
			}}
		})
		return code
	}
	p, err := c.start(n)
	if err != nil {
		return ends(128, "StartError", err.Error())
	}
	c.set(func(s *corev1.ContainerStatus) {
		s.RestartCount, s.ContainerID = int32(n), id
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		s.Started, s.Ready = new(true), c.spec.ReadinessProbe == nil
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	})
	probing, stop := context.WithCancel(context.Background())
	var probes sync.WaitGroup
	unhealthy := make(chan struct{})
	if probe := c.spec.ReadinessProbe; probe != nil {
		probes.Go(func() {
			c.probe(probing, probe, false, func(ok bool) bool {
				c.set(func(s *corev1.ContainerStatus) { s.Ready = ok })
				return true
			})
		})
	}
	if probe := c.spec.LivenessProbe; probe != nil {
		probes.Go(func() {
			c.probe(probing, probe, true, func(ok bool) bool {
				if !ok {
					close(unhealthy)
				}
				return ok
			})
		})
	}
	code := c.await(p, unhealthy)
	stop()
	probes.Wait()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return ends(code, reason, "")
}

// await returns the exit status of the program when it has ended: by itself, as the
// pod is to end, or as it is not healthy.
func (c *container) await(p *started, unhealthy <-chan struct{}) int {
	select {
	case <-p.done:
		return p.code
	case <-unhealthy:
	case <-c.instance.ctx.Done():
	}
	grace := c.grace()
	p.terminate()
	select {
	case <-p.done:
	case <-c.instance.now.Done():
	case <-time.After(grace):
	}
	p.kill()
	<-p.done
	return p.code
}

// grace is how long the program may take to end.
func (c *container) grace() time.Duration {
	c.instance.mu.Lock()
	defer c.instance.mu.Unlock()
	seconds := int64(30)
	if c.instance.pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *c.instance.pod.Spec.TerminationGracePeriodSeconds
	}
	if c.instance.ctx.Err() != nil {
		seconds = c.instance.grace
	}
	return time.Duration(seconds) * time.Second
}

// output opens the file that the nth run writes to.
func (c *container) output(n int) (*os.File, error) {
	if err := os.MkdirAll(c.logs, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(c.logFile(n), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}
