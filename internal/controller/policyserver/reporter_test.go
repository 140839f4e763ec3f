package policyserver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestReporter reports on a policy from its pods, and has Ready follow.
func TestReporter(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	d := policy.Description{
		NotReady: errors.New("no such module"), Reason: "ModuleNotUsable",
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionContextDenied, Status: metav1.ConditionUnknown, Reason: "Why", Message: "what"}, {Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "No"}},
	}
	r := NewReporter(Reporter{
		Client: l.client, Clock: l.clock, Log: logr.Discard(),
		Policies: func() []stored.Ref {
			return []stored.Ref{{Kind: stored.KindClusterAdmissionPolicy, Name: "a"}, {Kind: stored.KindAdmissionPolicy, Namespace: "x", Name: "of-a-file"}}
		},
		Describe: func(stored.Ref, []metav1.Condition, int64, time.Time) policy.Description { return d },
	})
	version := func() string {
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		return p.ResourceVersion
	}
	condition := func(kind string) string {
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		return says(p.Status.Conditions, kind)
	}
	r.report(t.Context())
	if got := condition(v1alpha1.ConditionContextDenied); got != "Unknown Why: what" {
		t.Errorf("ContextDenied is %q", got)
	}
	if got := condition(v1alpha1.ConditionModuleReady); got != "False ModuleNotUsable: no such module" {
		t.Errorf("ModuleReady is %q", got)
	}
	l.wantPolicy("a", "True InForce")
	l.sweep()
	l.wantPolicy("a", "False ModuleNotUsable: at PolicyServer s: no such module")
	// What it said already, it does not say again over what others said.
	p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == v1alpha1.ConditionModuleReady {
			p.Status.Conditions[i].Status = metav1.ConditionTrue
		}
	}
	if err := l.client.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	before := version()
	r.report(t.Context())
	if version() != before {
		t.Error("it was written again")
	}
	d.NotReady = nil
	r.report(t.Context())
	if got := condition(v1alpha1.ConditionModuleReady); got != "True Loaded: the module was loaded" {
		t.Errorf("ModuleReady is %q", got)
	}
	l.sweep()
	l.wantPolicy("a", "True InForce")
}

// TestExceptions waits for the right to read exceptions.
func TestExceptions(t *testing.T) {
	var allowed, fails, synced atomic.Bool
	fails.Store(true)
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if fails.Load() {
				return errors.New("away")
			}
			o.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = allowed.Load()
			return nil
		},
	}).Build()
	clock := clocktesting.NewFakeClock(noon)
	watching := make(chan struct{})
	e := &Exceptions{Client: c, Clock: clock, Log: logr.Discard(), Synced: synced.Load, Watch: func(ctx context.Context) error {
		close(watching)
		<-ctx.Done()
		return nil
	}}
	if e.Ready() == nil {
		t.Error("ready before anything was asked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	waits := func() {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return clock.HasWaiters(), nil }); err != nil {
			t.Fatal("it asks no more")
		}
	}
	waits()
	if e.Ready() == nil {
		t.Error("ready although nothing could be asked")
	}
	fails.Store(false)
	clock.Step(askEvery)
	waits()
	if err := e.Ready(); err != nil {
		t.Errorf("not ready without the right: %v", err)
	}
	allowed.Store(true)
	clock.Step(askEvery)
	<-watching
	if e.Ready() == nil {
		t.Error("ready before exceptions were read")
	}
	synced.Store(true)
	if err := e.Ready(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
