package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// What is written on a pod that was entered.
const (
	// LabelEntered says that somebody was in the pod, which may have been changed.
	LabelEntered = "sallyport.io/entered"
	// AnnotationEnteredBy says who and when, as JSON.
	AnnotationEnteredBy = "sallyport.io/entered-by"
)

// What status.entered[].afterUse begins with.
const (
	afterDoing   = "to do: "
	afterEvicted = "evicted"
	afterMarked  = "marked"
	afterGone    = "gone: "
	afterNotDone = "not done: "
)

// Times between two attempts at one pod.
const (
	firstAfterUse   = 10 * time.Second
	longestAfterUse = 5 * time.Minute
	// mostMarks is how many entries the annotation of a pod keeps.
	mostMarks = 32
)

// waits remembers when a pod is tried again. A replica that becomes the one that
// writes begins at once: trying once more does no harm.
type waits struct {
	mu   sync.Mutex
	next map[waiting]wait
}

type waiting struct {
	session types.UID
	pod     string
}

type wait struct {
	until time.Time
	pause time.Duration
}

func (w *waits) due(key waiting, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !now.Before(w.next[key].until)
}

func (w *waits) later(key waiting, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = map[waiting]wait{}
	}
	pause := firstAfterUse
	if last := w.next[key].pause; last > 0 {
		pause = min(2*last, longestAfterUse)
	}
	w.next[key] = wait{now.Add(pause), pause}
}

func (w *waits) forget(there map[types.UID]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.next {
		if !there[key.session] {
			delete(w.next, key)
		}
	}
}

// reconcilePods evicts or marks the pods that were entered under a session that is
// over. What is going to be done is written down before, and what was done after;
// in between it may be tried by two replicas, of which the second finds nothing to
// do, since what is done is bound to the UID of the pod.
func (c *Controller) reconcilePods(ctx context.Context, s *v1alpha1.BreakglassSession, now time.Time) error {
	after, grace := afterUseOf(s)
	if after == nil || s.Status.EndedAt == nil || now.Before(s.Status.EndedAt.Add(grace)) {
		return nil
	}
	plan := s.DeepCopy()
	for i := range plan.Status.Entered {
		if p := &plan.Status.Entered[i]; p.AfterUse == "" {
			p.AfterUse = afterDoing + string(after.Action)
		}
	}
	if written, err := c.writeSession(ctx, s, plan); !written {
		return err
	}
	done := plan.DeepCopy()
	var errs []error
	for i := range done.Status.Entered {
		p := &done.Status.Entered[i]
		key := waiting{s.UID, p.Namespace + "/" + p.Name + "/" + p.UID}
		if !strings.HasPrefix(p.AfterUse, afterDoing) || !c.afterUse.due(key, now) {
			continue
		}
		outcome, err := c.reconcilePod(ctx, s, p, after.Action)
		if err != nil {
			c.afterUse.later(key, now)
			p.AfterUse = afterDoing + string(after.Action) + "; " + err.Error()
			errs = append(errs, fmt.Errorf("BreakglassSession %s: pod %s/%s cannot be seen to yet: %w", s.Name, p.Namespace, p.Name, err))
			continue
		}
		at := metav1.NewTime(now)
		p.AfterUse, p.AfterUseAt = outcome, &at
		c.Log.Info("saw to a pod that was entered", "session", s.Name, "namespace", p.Namespace, "name", p.Name, "outcome", outcome)
	}
	_, err := c.writeSession(ctx, plan, done)
	*s = *done
	return errors.Join(append(errs, err)...)
}

// afterUseOf is what was to happen to pods when the session was approved.
func afterUseOf(s *v1alpha1.BreakglassSession) (*v1alpha1.AfterUse, time.Duration) {
	if !breakglass.Final(s.Status.State) || s.Status.Terms == nil || s.Status.Terms.AfterUse == nil || len(s.Status.Entered) == 0 {
		return nil, 0
	}
	after := s.Status.Terms.AfterUse
	// What is not given, or what no one can read, does not put it off.
	grace, _ := exception.ParseDuration(after.Grace)
	return after, grace
}

// reconcilePod does what is due to one pod, and says what came of it. An error means
// that it is tried again.
func (c *Controller) reconcilePod(ctx context.Context, s *v1alpha1.BreakglassSession, p *v1alpha1.EnteredPod, action v1alpha1.AfterUseAction) (string, error) {
	if s.Spec.Cluster != c.Breakglass.Cluster {
		return afterNotDone + fmt.Sprintf("the pod is in cluster %q, whose pods Sallyport reads and does not change", s.Spec.Cluster), nil
	}
	pod := &corev1.Pod{}
	err := c.direct.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Name}, pod)
	switch {
	case apierrors.IsNotFound(err):
		return afterGone + "the pod is not there any more", nil
	case err != nil:
		return "", err
	case p.UID != "" && string(pod.UID) != p.UID:
		return afterGone + "another pod has its name", nil
	case p.UID == "" && !pod.CreationTimestamp.Before(&p.Last):
		// Nobody enters a pod in the second in which it is made.
		return afterGone + "the pod was made after it was entered, so it is another one", nil
	case pod.DeletionTimestamp != nil:
		return afterGone + "the pod is being deleted", nil
	}
	if action == v1alpha1.AfterUseEvict {
		return c.evict(ctx, pod)
	}
	return c.annotate(ctx, s, p, pod)
}

// evict asks for the eviction of this very pod.
func (c *Controller) evict(ctx context.Context, pod *corev1.Pod) (string, error) {
	uid := pod.UID
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	}
	err := c.direct.SubResource("eviction").Create(ctx, pod, eviction)
	switch {
	case err == nil:
		return afterEvicted, nil
	case apierrors.IsNotFound(err):
		return afterGone + "the pod is not there any more", nil
	case apierrors.IsConflict(err):
		return "", errors.New("the pod changed in this moment")
	case apierrors.IsTooManyRequests(err):
		return "", errors.New("a PodDisruptionBudget does not allow it now")
	default:
		return "", err
	}
}

// mark is who was in a pod.
type mark struct {
	User    string    `json:"user"`
	Session string    `json:"session"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// annotate labels this very pod, and adds to the annotation who was in it.
func (c *Controller) annotate(ctx context.Context, s *v1alpha1.BreakglassSession, p *v1alpha1.EnteredPod, pod *corev1.Pod) (string, error) {
	var marks []mark
	if json.Unmarshal([]byte(pod.Annotations[AnnotationEnteredBy]), &marks) != nil {
		// Nothing is there, or nonsense: whoever was in the pod may have written it.
		marks = nil
	}
	marks = slices.DeleteFunc(marks, func(m mark) bool { return m.Session == s.Name })
	marks = append(marks, mark{User: s.Spec.User, Session: s.Name, First: p.First.UTC(), Last: p.Last.UTC()})
	if n := len(marks); n > mostMarks {
		marks = marks[n-mostMarks:]
	}
	text, err := json.Marshal(marks)
	if err != nil {
		return "", fmt.Errorf("who entered it cannot be written: %w", err)
	}
	changed := pod.DeepCopy()
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Labels[LabelEntered], changed.Annotations[AnnotationEnteredBy] = "true", string(text)
	err = c.direct.Patch(ctx, changed, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
	switch {
	case err == nil:
		return afterMarked, nil
	case apierrors.IsNotFound(err):
		return afterGone + "the pod is not there any more", nil
	case apierrors.IsConflict(err):
		return "", errors.New("the pod changed in this moment")
	default:
		return "", err
	}
}
