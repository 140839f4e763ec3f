package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// endedWith is a session that was revoked at noon, under which the pod dev/a was entered.
func endedWith(action string) *v1alpha1.BreakglassSession {
	at := metav1.NewTime(noon)
	s := &v1alpha1.BreakglassSession{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s1"}, Spec: v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "carol", EscalationRef: "debug"}}
	s.Status = v1alpha1.BreakglassSessionStatus{
		State: v1alpha1.SessionRevoked, EndedAt: &at, Terms: &v1alpha1.SessionTerms{AfterUse: &v1alpha1.AfterUse{Action: v1alpha1.AfterUseAction(action)}},
		Entered: []v1alpha1.EnteredPod{{Namespace: "dev", Name: "a", UID: "ua", First: at, Last: at}},
	}
	return s
}

// TestAfterUseOf says whose pods are seen to, and how long that is put off.
func TestAfterUseOf(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.BreakglassSessionStatus)
		due    bool
		grace  time.Duration
	}{
		"at once":             {func(*v1alpha1.BreakglassSessionStatus) {}, true, 0},
		"after a while":       {func(s *v1alpha1.BreakglassSessionStatus) { s.Terms.AfterUse.Grace = "1h" }, true, time.Hour},
		"after what is wrong": {func(s *v1alpha1.BreakglassSessionStatus) { s.Terms.AfterUse.Grace = "soon" }, true, 0},
		"not over":            {func(s *v1alpha1.BreakglassSessionStatus) { s.State = v1alpha1.SessionApproved }, false, 0},
		"no terms":            {func(s *v1alpha1.BreakglassSessionStatus) { s.Terms = nil }, false, 0},
		"nothing to be done":  {func(s *v1alpha1.BreakglassSessionStatus) { s.Terms.AfterUse = nil }, false, 0},
		"no one entered":      {func(s *v1alpha1.BreakglassSessionStatus) { s.Entered = nil }, false, 0},
	} {
		s := endedWith("evict")
		c.change(&s.Status)
		if after, grace := afterUseOf(s); (after != nil) != c.due || grace != c.grace {
			t.Errorf("%s: %v after %v", name, after, grace)
		}
	}
}

// TestSeeingToPods writes down what is going to be done before it is done, and does it
// only where that was written.
func TestSeeingToPods(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.BreakglassSessionStatus)
		// broken is what comes of writing the status.
		broken  error
		evicted int
		fails   bool
		says    string
	}{
		"what is due":               {func(*v1alpha1.BreakglassSessionStatus) {}, nil, 1, false, "evicted"},
		"what has not ended":        {func(s *v1alpha1.BreakglassSessionStatus) { s.EndedAt = nil }, nil, 0, false, ""},
		"nothing to be done":        {func(s *v1alpha1.BreakglassSessionStatus) { s.Terms.AfterUse = nil }, nil, 0, false, ""},
		"done already":              {func(s *v1alpha1.BreakglassSessionStatus) { s.Entered[0].AfterUse = "marked" }, nil, 0, false, "marked"},
		"the status is not there":   {func(*v1alpha1.BreakglassSessionStatus) {}, apierrors.NewNotFound(corev1.Resource("x"), "s"), 0, false, ""},
		"the status has changed":    {func(*v1alpha1.BreakglassSessionStatus) {}, apierrors.NewConflict(corev1.Resource("x"), "s", nil), 0, false, ""},
		"the status is not written": {func(*v1alpha1.BreakglassSessionStatus) {}, errors.New("etcd is away"), 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := endedWith("evict")
			c.change(&s.Status)
			w := newSessions(t, escalationText, s, podOf("a", "ua"))
			r := w.replica()
			r.client = interceptor.NewClient(w.api, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, api client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if c.broken != nil {
						return c.broken
					}
					return api.SubResource(sub).Patch(ctx, o, patch, opts...)
				},
			})
			err := r.reconcilePods(t.Context(), w.session(), noon.Add(time.Minute))
			if (err != nil) != c.fails || len(w.evicted) != c.evicted || w.session().Status.Entered[0].AfterUse != c.says {
				t.Errorf("%v, evicted %v, status %+v", err, w.evicted, w.session().Status.Entered)
			}
		})
	}
}

// TestPodsAreTriedAgainLater leaves a pod that could not be seen to for a while.
func TestPodsAreTriedAgainLater(t *testing.T) {
	w := newSessions(t, escalationText, endedWith("evict"), podOf("a", "ua"))
	w.budget = true
	c := w.replica()
	if err := c.reconcilePods(t.Context(), w.session(), noon); err == nil {
		t.Fatal("nothing is said of the budget")
	}
	w.budget = false
	for _, later := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {firstAfterUse - 1, 0}, {firstAfterUse, 1}} {
		if err := c.reconcilePods(t.Context(), w.session(), noon.Add(later.after)); err != nil || len(w.evicted) != later.want {
			t.Errorf("after %v: %v, evicted %v", later.after, err, w.evicted)
		}
	}
}

// TestWaits doubles the time between two attempts, up to a bound, and forgets what is gone.
func TestWaits(t *testing.T) {
	w := &waits{}
	key := waiting{"s1", "dev/a/ua"}
	at := noon
	for _, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, longestAfterUse, longestAfterUse} {
		w.later(key, at)
		if w.due(key, at.Add(pause-1)) || !w.due(key, at.Add(pause)) {
			t.Errorf("not due after %v", pause)
		}
		at = at.Add(pause)
	}
	w.later(key, at)
	w.forget(map[types.UID]bool{"s1": true})
	if w.due(key, at) {
		t.Error("what is there is forgotten")
	}
	w.forget(nil)
	if !w.due(key, at) {
		t.Error("what is gone is kept")
	}
}

// TestSeeingToOnePod does it to the very pod that was entered, and says what came of it.
func TestSeeingToOnePod(t *testing.T) {
	away, missing, conflict := errors.New("etcd is away"), apierrors.NewNotFound(corev1.Resource("pods"), "a"), apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("x"))
	get := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}}
	}
	evict := func(err error) interceptor.Funcs {
		return interceptor.Funcs{SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
			return err
		}}
	}
	patch := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return err
		}}
	}
	young, leaving := podOf("a", "ua"), podOf("a", "ua")
	young.CreationTimestamp = metav1.NewTime(noon)
	at := metav1.NewTime(noon)
	leaving.DeletionTimestamp, leaving.Finalizers = &at, []string{"x.io/y"}
	for name, c := range map[string]struct {
		pod       *corev1.Pod
		uid       string
		action    v1alpha1.AfterUseAction
		funcs     interceptor.Funcs
		says, err string
	}{
		"evicted":                        {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "evicted", ""},
		"made when it was entered":       {young, "ua", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "evicted", ""},
		"made since, as far as is known": {young, "", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "gone: the pod was made after", ""},
		"another":                        {podOf("a", "ub"), "ua", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "gone: another pod", ""},
		"being deleted":                  {leaving, "ua", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "gone: the pod is being deleted", ""},
		"not there":                      {podOf("b", "ub"), "ua", v1alpha1.AfterUseEvict, interceptor.Funcs{}, "gone: the pod is not there", ""},
		"not readable":                   {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, get(away), "", "etcd is away"},
		"gone since":                     {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, evict(missing), "gone: the pod is not there", ""},
		"changed since":                  {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, evict(conflict), "", "the pod changed in this moment"},
		"a budget":                       {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, evict(apierrors.NewTooManyRequests("x", 0)), "", "PodDisruptionBudget"},
		"not evictable":                  {podOf("a", "ua"), "ua", v1alpha1.AfterUseEvict, evict(away), "", "etcd is away"},
		"marked":                         {podOf("a", "ua"), "ua", v1alpha1.AfterUseMark, interceptor.Funcs{}, "marked", ""},
		"gone since, to be marked":       {podOf("a", "ua"), "ua", v1alpha1.AfterUseMark, patch(missing), "gone: the pod is not there", ""},
		"changed since, to be marked":    {podOf("a", "ua"), "ua", v1alpha1.AfterUseMark, patch(conflict), "", "the pod changed in this moment"},
		"not markable":                   {podOf("a", "ua"), "ua", v1alpha1.AfterUseMark, patch(away), "", "etcd is away"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSessions(t, escalationText, c.pod)
			r := w.replica()
			r.direct = interceptor.NewClient(w.api, c.funcs)
			s := endedWith(string(c.action))
			s.Status.Entered[0].UID = c.uid
			says, err := r.reconcilePod(t.Context(), s, &s.Status.Entered[0], c.action)
			if !strings.HasPrefix(says, c.says) || (says == "") != (c.says == "") || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", says, err)
			}
		})
	}
}

// TestMarks adds to what others wrote on a pod before, and replaces nonsense.
func TestMarks(t *testing.T) {
	before, _ := json.Marshal([]mark{{User: "dave", Session: "t"}, {User: "carol", Session: "s"}})
	for name, c := range map[string]struct{ text, want string }{
		"none":             {"", "carol/s"},
		"of others, and s": {string(before), "dave/t carol/s"},
		"nonsense":         {`[{"user":"dave","session":"t"},{"user":1}]`, "carol/s"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf("a", "ua")
			pod.Annotations = map[string]string{AnnotationEnteredBy: c.text}
			w := newSessions(t, escalationText, pod)
			s := endedWith("mark")
			if says, err := w.replica().reconcilePod(t.Context(), s, &s.Status.Entered[0], v1alpha1.AfterUseMark); says != afterMarked || err != nil {
				t.Fatalf("%q, %v", says, err)
			}
			if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
				t.Fatal(err)
			}
			var marks []mark
			if err := json.Unmarshal([]byte(pod.Annotations[AnnotationEnteredBy]), &marks); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range marks {
				got = append(got, m.User+"/"+m.Session)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("marks %v", got)
			}
		})
	}
}
