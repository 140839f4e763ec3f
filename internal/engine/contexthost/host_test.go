package contexthost_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/observe/record"
)

// answer answers everything alike.
type answer []byte

func (a answer) Answer(context.Context, *contextgate.Admitted) ([]byte, error) { return a, nil }

// fixture is a host whose log is kept.
type fixture struct {
	*contexthost.Host
	clock *clocktesting.FakeClock
	lines []string
}

var begun = time.Date(2026, 7, 1, 12, 0, 30, 0, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: clocktesting.NewFakeClock(begun)}
	log := funcr.New(func(_, args string) { f.lines = append(f.lines, args) }, funcr.Options{})
	f.Host = contexthost.New(contexthost.Guess{}, answer(`{"items":[]}`), contexthost.Options{Log: log, Clock: f.clock})
	return f
}

func policyNamed(t *testing.T, name string) *contextgate.Policy {
	t.Helper()
	p, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", name, []contextgate.Grant{{Version: "v1", Resource: "namespaces"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func list(kind string) *hostcall.Read {
	return &hostcall.Read{Operation: hostcall.ListAll, APIVersion: "v1", Kind: kind}
}

// TestRefusalIsReported makes sure that what is refused is told in each place that
// needs no cluster, and told again only from time to time.
func TestRefusalIsReported(t *testing.T) {
	t.Parallel()
	f, p := newFixture(t), policyNamed(t, "p")
	ctx, recorder := contexthost.WithRecorder(t.Context())
	for range 3 {
		var denied *contextgate.Denied
		if _, err := f.Tree(ctx, p, list("Secret")); !errors.As(err, &denied) {
			t.Fatalf("%v; it was not granted", err)
		}
		f.clock.Step(time.Second)
	}
	if len(f.lines) != 1 || !strings.Contains(f.lines[0], `"policy"="ClusterPolicy/p" "resource"="secrets" "verb"="list"`) {
		t.Errorf("logged %q", f.lines)
	}
	got := recorder.Context()
	if got == nil || len(got.Denied) != 1 || got.Denied[0].Resource != "secrets" || !got.Denied[0].At.Equal(begun) {
		t.Errorf("recorded %+v", got)
	}
	f.clock.Step(time.Minute)
	if _, err := f.Call(ctx, p, hostcall.Call{Binding: "kubewarden", Namespace: "kubernetes", Operation: "can_i"}); err == nil {
		t.Error("can_i was not granted")
	}
	if _, err := f.Read(ctx, p, list("Secret")); err == nil || len(f.lines) != 3 || !strings.Contains(f.lines[2], `"times"=4`) {
		t.Errorf("logged %q", f.lines)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(record.ContextCollector(f.State))
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP sallyport_context_denied_total Reads and other calls that were refused to a policy, as they were not granted to it, by policy and resource.
# TYPE sallyport_context_denied_total counter
sallyport_context_denied_total{policy="p",resource="kubernetes/can_i"} 1
sallyport_context_denied_total{policy="p",resource="secrets"} 4
`), "sallyport_context_denied_total"); err != nil {
		t.Error(err)
	}
}

// TestMadeUpRefusals: what is refused to a policy for a request that may be made up stands in
// its answer, and nowhere else.
func TestMadeUpRefusals(t *testing.T) {
	t.Parallel()
	f, p := newFixture(t), policyNamed(t, "p")
	ctx, recorder := contexthost.WithRecorder(contextgate.Quietly(t.Context()))
	var denied *contextgate.Denied
	if _, err := f.Tree(ctx, p, list("Secret")); !errors.As(err, &denied) {
		t.Fatalf("%v; it was not granted", err)
	}
	if got := recorder.Context(); got == nil || len(got.Denied) != 1 {
		t.Errorf("recorded %+v", got)
	}
	if len(f.lines) > 0 || len(f.Denials("")) > 0 || len(f.State().Denied) > 0 {
		t.Errorf("logged %q, kept %+v", f.lines, f.Denials(""))
	}
}

// TestNamesThatAreMadeUp makes sure that a policy which asks for other things each time
// fills neither the memory nor the metrics.
func TestNamesThatAreMadeUp(t *testing.T) {
	t.Parallel()
	f, p := newFixture(t), policyNamed(t, "p")
	ctx, recorder := contexthost.WithRecorder(t.Context())
	for i := range 1000 {
		if _, err := f.Read(ctx, p, list(fmt.Sprintf("Made%d", i))); err == nil {
			t.Fatal("it was not granted")
		}
	}
	for i := range 200 {
		if _, err := f.Read(ctx, policyNamed(t, fmt.Sprint("q", i)), list("Secret")); err == nil {
			t.Fatal("it was not granted")
		}
	}
	if n := len(f.State().Denied); n > 64+200 {
		t.Errorf("%d entries", n)
	}
	total := int64(0)
	for _, d := range f.Denials(p.String()) {
		total += d.Count
	}
	if total != 1000 {
		t.Errorf("%d refusals were counted", total)
	}
	if got := recorder.Context(); len(got.Denied) != 16 || got.More != 1000+200-16 {
		t.Errorf("%d recorded, %d more", len(got.Denied), got.More)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	f, p := newFixture(t), policyNamed(t, "p")
	said := func(existing []metav1.Condition, generation int64, since time.Time) []string {
		var lines []string
		for _, c := range f.Conditions(p, existing, generation, since) {
			lines = append(lines, fmt.Sprintf("%s=%s %d %s", c.Type, c.Status, c.ObservedGeneration, c.Message))
		}
		return lines
	}
	nothing := []string{"ContextDenied=False 2 nothing was refused to this version of the policy"}
	if diff := cmp.Diff(nothing, said(nil, 2, begun)); diff != "" {
		t.Error(diff)
	}
	elsewhere := []metav1.Condition{{Type: v1alpha1.ConditionContextDenied, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
	if got := said(elsewhere, 2, begun); got != nil {
		t.Errorf("what another replica said was replaced by %q", got)
	}
	elsewhere[0].ObservedGeneration = 1
	if diff := cmp.Diff(nothing, said(elsewhere, 2, begun)); diff != "" {
		t.Error(diff)
	}
	for _, kind := range []string{"Secret", "Node"} {
		f.clock.Step(time.Minute)
		if _, err := f.Read(t.Context(), p, list(kind)); err == nil {
			t.Fatal("it was not granted")
		}
	}
	denied := []string{"ContextDenied=True 2 2026-07-01T12:02:00Z: the policy may not list nodes: it is not in the policy's contextAware field, which lists namespaces; refused so far: nodes, secrets"}
	if diff := cmp.Diff(denied, said(nil, 2, begun)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{strings.Replace(nothing[0], " 2 ", " 3 ", 1)}, said(elsewhere, 3, f.clock.Now().Add(time.Second))); diff != "" {
		t.Errorf("a new version of the policy: %s", diff)
	}
}

// TestTreesAreKept makes sure that an answer which did not change is decoded once.
func TestTreesAreKept(t *testing.T) {
	t.Parallel()
	f, p := newFixture(t), policyNamed(t, "p")
	first, err := f.Tree(t.Context(), p, list("Namespace"))
	if err != nil {
		t.Fatal(err)
	}
	first["mark"] = true
	second, err := f.Tree(t.Context(), p, list("Namespace"))
	if err != nil || second["mark"] != true {
		t.Errorf("it was decoded again: %v, %v", second, err)
	}
	for name, text := range map[string]string{"no JSON": "{", "no object": "[]", "nothing": ""} {
		broken := contexthost.New(contexthost.Guess{}, answer(text), contexthost.Options{})
		if tree, err := broken.Tree(t.Context(), p, list("Namespace")); err == nil {
			t.Errorf("%s: %v", name, tree)
		}
	}
}
