package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// written is the request by which somebody writes a policy.
func written(t *testing.T, kind, document string) *request.Request {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: kind}
	return created(t, clusterOf(t), gvk, strings.ToLower(strings.TrimSuffix(kind, "y"))+"ies", document)
}

// TestModulesAreTried says what whoever writes a policy is told of its module.
func TestModulesAreTried(t *testing.T) {
	refused := &runner.SettingsRefused{Message: "the label must not be forbidden"}
	for name, tt := range map[string]struct {
		document string
		info     runner.Info
		err      error
		status   decision.Status
		path     string
		want     string
	}{
		"works":                        {cap0("p"), runner.Info{}, nil, decision.Pass, "", ""},
		"settings refused":             {cap0("p"), runner.Info{}, refused, decision.Fail, "spec.settings", "the label must not be forbidden"},
		"settings refused, wrapped":    {cap0("p"), runner.Info{}, errors.Join(refused), decision.Fail, "spec.settings", "the label must not be forbidden"},
		"of another server":            {cap0("p", "policyServer: there"), runner.Info{}, refused, decision.Fail, "spec.settings", "the label must not be forbidden"},
		"of a namespace":               {ap0("shop", "p"), runner.Info{}, refused, decision.Fail, "spec.settings", "the label must not be forbidden"},
		"not there":                    {cap0("p"), runner.Info{}, errors.New("module file:///p.wasm cannot be fetched: no such file"), decision.Warn, "spec.module", "works not yet: module file:///p.wasm cannot be fetched"},
		"reads more than was granted":  {cap0("p"), runner.Info{Missing: []string{"secrets: the module reads it, and the policy was not granted it"}}, nil, decision.Warn, "spec.contextAware", "secrets"},
		"changes more than it may":     {cap0("p"), runner.Info{Notes: []string{"the module says that it changes objects"}}, nil, decision.Warn, "spec.mutating", "changes objects"},
		"of a server that is not here": {cap0("p", "policyServer: there"), runner.Info{}, nil, decision.Warn, "spec.policyServer", "not there"},
	} {
		t.Run(name, func(t *testing.T) {
			// A policy that is there already is nobody's business.
			m := &modules{tried: func(_ context.Context, p *runner.Policy) (runner.Info, error) {
				if p.Name != "p" {
					t.Errorf("%s was tried", p)
				}
				return tt.info, tt.err
			}}
			set := setOf(t, cap0("old", "policyServer: elsewhere")).Run(m)
			kind := stored.KindClusterAdmissionPolicy
			if strings.Contains(tt.document, "kind: AdmissionPolicy") {
				kind = stored.KindAdmissionPolicy
			}
			got := only(t, set.Decide(t.Context(), written(t, kind, tt.document)))
			if got.Status != tt.status || tt.want != "" && (len(got.Findings) != 1 || got.Findings[0].Path != tt.path || !strings.Contains(got.Message, tt.want)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTrialsAreBounded(t *testing.T) {
	var left time.Duration
	m := &modules{tried: func(ctx context.Context, _ *runner.Policy) (runner.Info, error) {
		until, _ := ctx.Deadline()
		left = time.Until(until)
		return runner.Info{}, nil
	}}
	set := setOf(t).Run(m)
	set.Decide(t.Context(), written(t, stored.KindClusterAdmissionPolicy, cap0("p")))
	if left > trialTime || left <= 0 {
		t.Errorf("%s without a limit of the request", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	set.Decide(ctx, written(t, stored.KindClusterAdmissionPolicy, cap0("p")))
	if left > 1500*time.Millisecond {
		t.Errorf("%s of two seconds", left)
	}
}

// TestTrialsOfUpdates says that what does not change the spec is not tried: its
// finalizers can be taken away whatever has become of the module.
func TestTrialsOfUpdates(t *testing.T) {
	refused := &modules{tried: func(context.Context, *runner.Policy) (runner.Info, error) {
		return runner.Info{}, &runner.SettingsRefused{Message: "no"}
	}}
	set := setOf(t).Run(refused)
	for before, want := range map[string]decision.Status{cap0("p"): decision.Pass, cap0("p", "mode: monitor"): decision.Fail} {
		r := written(t, stored.KindClusterAdmissionPolicy, strings.Replace(cap0("p"), "{name: p}", "{name: p, labels: {a: b}}", 1))
		r.Operation, r.OldObject = request.Update, written(t, stored.KindClusterAdmissionPolicy, before).Object
		if got := only(t, set.Decide(t.Context(), r)); got.Status != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := only(t, setOf(t).Decide(t.Context(), written(t, stored.KindClusterAdmissionPolicy, cap0("p")))); got.Status != decision.Pass {
		t.Errorf("where modules are not run: %+v", got)
	}
	bad := written(t, stored.KindAdmissionPolicy, ap0("shop", "p", "contextAware: [{version: v1, resource: secrets}]"))
	if got := only(t, set.Decide(t.Context(), bad)); got.Status != decision.Fail || !strings.Contains(got.Message, "a ClusterAdmissionPolicy may have it") {
		t.Errorf("%+v", got)
	}
}
