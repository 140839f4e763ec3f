package workflow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/observe/notify"
)

// sessions is a cluster with breakglass sessions, and replicas that write.
type sessions struct {
	*testing.T
	clock    *clocktesting.FakeClock
	api      client.WithWatch
	told     []string
	recorded []string
	evicted  []string
	// budget has evictions put off.
	budget bool
	// broken fails the next so many writes of a status.
	broken int
}

func newSessions(t *testing.T, escalation string, objects ...client.Object) *sessions {
	t.Helper()
	s := scheme(t)
	if err := errors.Join(corev1.AddToScheme(s), policyv1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	w := &sessions{T: t, clock: clocktesting.NewFakeClock(noon)}
	objects = append(objects, parse[v1alpha1.BreakglassEscalation](t, escalation))
	w.api = fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).WithStatusSubresource(&v1alpha1.BreakglassSession{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object, _ ...client.SubResourceCreateOption) error {
				eviction := body.(*policyv1.Eviction)
				if w.budget {
					return apierrors.NewTooManyRequests("budget", 0)
				}
				found := &corev1.Pod{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), found); err != nil {
					return err
				}
				if *eviction.DeleteOptions.Preconditions.UID != found.UID {
					return apierrors.NewConflict(corev1.Resource("pods"), o.GetName(), errors.New("another uid"))
				}
				w.evicted = append(w.evicted, string(found.UID))
				return c.Delete(ctx, found)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				if w.broken > 0 {
					w.broken--
					return errors.New("etcd is away")
				}
				return c.SubResource(sub).Patch(ctx, o, patch, opts...)
			},
		}).Build()
	return w
}

// replica is a Controller as it begins.
func (w *sessions) replica() *Controller {
	return &Controller{client: w.api, direct: w.api, counts: w.api, Options: Options{Clock: w.clock, Log: logr.Discard(), Breakglass: BreakglassOptions{
		Uses: &breakglass.Ledger{}, ExpiryNotice: 5 * time.Minute, Cluster: "prod-eu",
		Notify: func(e notify.Event) { w.told = append(w.told, string(e.Type)) },
		Record: func(_ *v1alpha1.BreakglassSession, t v1alpha1.SessionTransition) {
			w.recorded = append(w.recorded, string(t.State))
		},
	}}}
}

func (w *sessions) session() *v1alpha1.BreakglassSession {
	w.Helper()
	s := &v1alpha1.BreakglassSession{}
	if err := w.api.Get(w.Context(), client.ObjectKey{Name: "s"}, s); err != nil {
		w.Fatal(err)
	}
	return s
}

// sweep has a replica that has just begun look at everything, so that all that is
// known is what was written.
func (w *sessions) sweep() {
	w.Helper()
	if err := w.replica().reconcileSessions(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// step takes a step as somebody.
func (w *sessions) step(to v1alpha1.SessionState, by, escalation string) {
	w.Helper()
	s := w.session()
	compiled, _ := breakglass.CompileSession(s)
	e, _ := breakglass.CompileEscalation(parse[v1alpha1.BreakglassEscalation](w, escalation))
	status, err := breakglass.Apply(compiled, e, breakglass.Step{To: to, By: breakglass.Person{Name: by}}, w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	s.Status = *status
	if err := w.api.Status().Update(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

func (w *sessions) want(what string, got []string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// enter has a replica count and write that a pod was entered.
func (w *sessions) enter(pod string, uid types.UID) {
	w.Helper()
	c := w.replica()
	c.Breakglass.Uses.Restore("s1", breakglass.Uses{Last: w.clock.Now(), Pods: []breakglass.PodUse{{Namespace: "dev", Name: pod, UID: string(uid), Span: breakglass.Span{First: w.clock.Now(), Last: w.clock.Now()}}}})
	c.FlushSessions(w.Context())
}

func podOf(name string, uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: uid, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
}

func requested(t *testing.T) *v1alpha1.BreakglassSession {
	return parse[v1alpha1.BreakglassSession](t, strings.Replace(strings.Replace(sessionText, "11:30", "12:00", 1), `resourceVersion: "7", `, "", 1))
}

// TestSessionLife follows a session, each look at it by another replica: nothing is
// told, recorded or done twice, and nothing is left out.
func TestSessionLife(t *testing.T) {
	evict := escalationText + "  idleTimeout: 40m\n  retainFor: 1d\n  afterUse: {action: evict, grace: 1m}\n"
	w := newSessions(t, evict, requested(t), podOf("a", "ua"), podOf("b", "ub"))
	twice := func() { w.Helper(); w.sweep(); w.sweep() }
	twice()
	w.want("told", w.told, "asked")
	w.step(v1alpha1.SessionApproved, "dave", evict)
	twice()
	w.want("told", w.told, "asked", "approved")
	w.enter("a", "ua")
	w.enter("b", "ub0") // of that name before
	w.clock.Step(30 * time.Minute)
	w.enter("a", "ua")
	if s := w.session(); len(s.Status.Entered) != 2 || !s.Status.Entered[0].First.Time.Equal(noon) || !s.Status.Entered[0].Last.Time.Equal(noon.Add(30*time.Minute)) || !s.Status.LastUsedAt.Time.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("uses %+v", s.Status)
	}
	w.clock.SetTime(noon.Add(55 * time.Minute))
	twice()
	w.want("told", w.told, "asked", "approved", "expiring")
	w.clock.SetTime(noon.Add(time.Hour))
	twice()
	w.want("told", w.told, "asked", "approved", "expiring", "ended")
	w.want("recorded", w.recorded, "Pending", "Approved", "Expired")
	w.want("evicted before the grace is over", w.evicted)
	w.clock.Step(time.Minute)
	w.budget = true
	if err := w.replica().reconcileSessions(t.Context()); err == nil || !strings.Contains(w.session().Status.Entered[0].AfterUse, "PodDisruptionBudget") {
		t.Errorf("%v, %+v", err, w.session().Status.Entered)
	}
	w.budget = false
	twice()
	w.want("evicted", w.evicted, "ua")
	if err := w.api.Create(t.Context(), podOf("a", "ua2")); err != nil {
		t.Fatal(err)
	}
	twice()
	w.want("evicted", w.evicted, "ua")
	entered := w.session().Status.Entered
	if entered[0].AfterUse != "evicted" || !strings.HasPrefix(entered[1].AfterUse, "gone: another pod") || entered[0].AfterUseAt == nil {
		t.Errorf("%+v", entered)
	}
	w.clock.SetTime(noon.Add(25*time.Hour - time.Second))
	twice()
	w.session()
	w.clock.SetTime(noon.Add(25 * time.Hour))
	w.sweep()
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: "s"}, &v1alpha1.BreakglassSession{}); !apierrors.IsNotFound(err) {
		t.Errorf("the session is there still: %v", err)
	}
}

// TestFaultsDoNothingTwice has writes fail at every point in turn, and a new replica
// go on each time.
func TestFaultsDoNothingTwice(t *testing.T) {
	evict := escalationText + "  afterUse: {action: evict}\n"
	for fail := range 6 {
		w := newSessions(t, evict, requested(t), podOf("a", "ua"))
		w.sweep()
		w.step(v1alpha1.SessionApproved, "dave", evict)
		w.enter("a", "ua")
		w.clock.SetTime(noon.Add(time.Hour))
		failing := w.replica()
		allowed := 0
		failing.client = interceptor.NewClient(w.api, interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				if allowed++; allowed > fail {
					return errors.New("etcd is away")
				}
				return c.SubResource(sub).Patch(ctx, o, patch, opts...)
			},
		})
		_ = failing.reconcileSessions(t.Context())
		w.sweep()
		w.sweep()
		slices.Sort(w.told)
		w.want("told", w.told, "approved", "asked", "ended")
		w.want("evicted", w.evicted, "ua")
		w.want("recorded", w.recorded, "Pending", "Approved", "Expired")
		if e := w.session().Status.Entered[0]; e.AfterUse != "evicted" && !strings.HasPrefix(e.AfterUse, "gone") {
			t.Errorf("after %d writes: %+v", fail, e)
		}
	}
}

// TestMark labels the pods that were entered, only those of this cluster.
func TestMark(t *testing.T) {
	text := escalationText + "  afterUse: {action: mark}\n"
	w := newSessions(t, text, requested(t), podOf("a", "ua"), podOf("young", "uy"))
	w.sweep()
	w.step(v1alpha1.SessionApproved, "dave", text)
	w.enter("a", "")
	young := podOf("young", "uy")
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(young), young); err != nil {
		t.Fatal(err)
	}
	young.CreationTimestamp = metav1.NewTime(noon)
	if err := w.api.Update(t.Context(), young); err != nil {
		t.Fatal(err)
	}
	w.enter("young", "")
	w.clock.Step(time.Minute)
	w.step(v1alpha1.SessionRevoked, "dave", text)
	elsewhere := w.replica()
	w.sweep()
	w.sweep()
	pod := &corev1.Pod{}
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: "dev", Name: "a"}, pod); err != nil {
		t.Fatal(err)
	}
	const by = `[{"user":"carol","session":"s","first":"2026-11-28T12:00:00Z","last":"2026-11-28T12:00:00Z"}]`
	if pod.Labels[LabelEntered] != "true" || pod.Annotations[AnnotationEnteredBy] != by {
		t.Errorf("%v, %v", pod.Labels, pod.Annotations)
	}
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: "dev", Name: "young"}, pod); err != nil || len(pod.Labels) > 0 {
		t.Errorf("a pod that was made since is marked: %v, %v", pod.Labels, err)
	}
	w.want("told", w.told, "asked", "approved", "ended")

	elsewhere.Breakglass.Cluster = "hub"
	s := w.session()
	s.Status.Entered = []v1alpha1.EnteredPod{{Namespace: "dev", Name: "a", First: metav1.NewTime(noon), Last: metav1.NewTime(noon)}}
	if err := w.api.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.reconcileSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := w.session().Status.Entered[0]; !strings.HasPrefix(e.AfterUse, "not done: ") {
		t.Errorf("%+v", e)
	}
}

// TestIdleIsLate leaves other replicas time to say that a session was used.
func TestIdleIsLate(t *testing.T) {
	text := escalationText + "  idleTimeout: 10m\n"
	w := newSessions(t, text, requested(t))
	w.sweep()
	w.step(v1alpha1.SessionApproved, "dave", text)
	w.clock.SetTime(noon.Add(10*time.Minute + idleMargin - time.Second))
	w.sweep()
	if s := w.session(); s.Status.State != v1alpha1.SessionApproved {
		t.Errorf("state %s", s.Status.State)
	}
	w.clock.Step(time.Second)
	w.sweep()
	if s := w.session(); s.Status.State != v1alpha1.SessionIdleExpired {
		t.Errorf("state %s", s.Status.State)
	}
}

// TestUsesAreKept writes later what could not be written.
func TestUsesAreKept(t *testing.T) {
	w := newSessions(t, escalationText, requested(t))
	w.sweep()
	c := w.replica()
	c.Breakglass.Uses.Restore("s1", breakglass.Uses{Last: noon})
	w.broken = 1
	c.FlushSessions(t.Context())
	if s := w.session(); s.Status.LastUsedAt != nil {
		t.Fatalf("%+v", s.Status)
	}
	c.FlushSessions(t.Context())
	if s := w.session(); s.Status.LastUsedAt == nil || !s.Status.LastUsedAt.Time.Equal(noon) {
		t.Errorf("%+v", s.Status)
	}
}

// TestEscalationMadeAnew ends a session whose escalation was deleted and made again
// between two sweeps, and one that is merely written again goes on.
func TestEscalationMadeAnew(t *testing.T) {
	for uid, want := range map[string]v1alpha1.SessionState{"e1": v1alpha1.SessionApproved, "e2": v1alpha1.SessionExpired} {
		w := newSessions(t, escalationText, requested(t))
		w.sweep()
		w.step(v1alpha1.SessionApproved, "dave", escalationText)
		again := parse[v1alpha1.BreakglassEscalation](t, strings.Replace(escalationText, "uid: e1", "uid: "+uid, 1))
		if err := errors.Join(w.api.Delete(t.Context(), again.DeepCopy()), w.api.Create(t.Context(), again)); err != nil {
			t.Fatal(err)
		}
		w.sweep()
		if s := w.session(); s.Status.State != want {
			t.Errorf("under %s: %+v", uid, s.Status)
		}
	}
}

// TestSweepSaysWhatHolds writes into the status what is known of a session, once, and
// follows what is said of its cluster.
func TestSweepSaysWhatHolds(t *testing.T) {
	w := newSessions(t, escalationText, parse[v1alpha1.BreakglassSession](t, sessionText))
	doors := breakglass.Doors{Access: true}
	sweep := func() *v1alpha1.BreakglassSession {
		t.Helper()
		c := w.replica()
		c.Breakglass.Doors = func(cluster string) breakglass.Doors {
			if cluster != "prod-eu" {
				t.Errorf("asked about cluster %q", cluster)
			}
			return doors
		}
		if err := c.reconcileSessions(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.session()
	}
	reason := func(s *v1alpha1.BreakglassSession, kind string) string {
		if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
			return c.Reason
		}
		return ""
	}
	s := sweep()
	if got := []string{reason(s, breakglass.ConditionBoundToUID), reason(s, breakglass.ConditionEntriesKnown), reason(s, breakglass.ConditionImpersonationRefused)}; !slices.Equal(got, []string{"NameOnly", "NoFrontDoor", "SideDoor"}) {
		t.Errorf("%v", got)
	}
	if again := sweep(); again.ResourceVersion != s.ResourceVersion {
		t.Error("what has not changed is written again")
	}
	doors.Admission = true
	if s := sweep(); reason(s, breakglass.ConditionEntriesKnown) != "FrontDoor" {
		t.Errorf("%+v", s.Status.Conditions)
	}
}
