package scan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// stored is a cluster that holds objects by their kind.
type stored struct {
	kinds   []Kind
	objects map[string][]string
	broken  map[string]error
	err     error
	listed  []string
	between func()
}

func (s *stored) Kinds(context.Context) ([]Kind, error) { return s.kinds, s.err }

func (s *stored) Each(_ context.Context, kind Kind, visit func([]byte)) error {
	s.listed = append(s.listed, kind.GroupVersion().String()+" "+kind.Kind)
	for _, text := range append(s.objects[kind.Kind], s.objects[kind.GroupVersion().String()+" "+kind.Kind]...) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return err
		}
		visit(raw)
		if s.between != nil {
			s.between()
		}
	}
	return s.broken[kind.Kind]
}

// kept has the reports that were written last.
type kept struct{ reports []report.Report }

func (k *kept) Write(_ context.Context, reports []report.Report) error {
	k.reports = reports
	return nil
}

func kind(group, version, name, resource string) Kind {
	return Kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, resource}
}

var served = []Kind{
	kind("", "v1", "Pod", "pods"), kind("", "v1", "ConfigMap", "configmaps"), kind("apps", "v1", "Deployment", "deployments"),
	kind("batch", "v1", "CronJob", "cronjobs"), kind("example.com", "v2", "Widget", "widgets"), kind("example.com", "v1", "Widget", "widgets"),
}

type scanned struct {
	*Scanner
	*testing.T
	clock *clocktesting.FakeClock
	kept  kept
}

func newScanned(t *testing.T, objects *stored, documents ...string) *scanned {
	t.Helper()
	var sources policy.Sources
	for _, text := range documents {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var named struct{ Kind string }
		if err := yaml.Unmarshal(raw, &named); err != nil {
			t.Fatal(err)
		}
		if problems := sources.Add(schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: named.Kind}, raw, "file"); problems != nil {
			t.Fatal(problems)
		}
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if objects.kinds == nil {
		objects.kinds = served
	}
	s := &scanned{T: t, clock: clocktesting.NewFakeClock(noon)}
	s.Scanner = New(Options{
		Set: func() *policy.Set { return set }, Objects: objects, Reports: &s.kept, Cluster: clustertest.Failing(errors.New("nothing is read here")),
		Clock: s.clock, Log: logr.Discard(), Interval: time.Hour, Leads: func() bool { return true }, Known: func() bool { return true },
	})
	return s
}

// lines are the results of the reports, a line each.
func (s *scanned) lines() []string {
	lines := []string{}
	for _, r := range s.kept.reports {
		for _, one := range r.Results {
			line := fmt.Sprintf("%s %s/%s %s %s/%s %s", r.Kind, one.Policy, one.Rule, one.Result, one.Resources[0].Kind, one.Resources[0].Name, one.Properties["exception.0"])
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

const (
	labelled = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: p}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: nope, pattern: {metadata: {labels: {app: "?*"}}}}}]}
`
	excuse = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: e, namespace: dev}
spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}, reason: migration, expiresAt: "2026-11-28T12:00:02Z"}
`
	bare = `{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: dev}, spec: {containers: [{name: a, image: b}]}}`
)

func TestScan(t *testing.T) {
	template := `{apiVersion: %s, kind: %s, metadata: {name: x, namespace: dev}, spec: {template: {metadata: {labels: {b: c}}, spec: {containers: [{name: a, image: b}]}}}}`
	cron := `{apiVersion: batch/v1, kind: CronJob, metadata: {name: x, namespace: dev}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}}`
	for name, c := range map[string]struct {
		documents []string
		objects   stored
		want      []string
		wantErr   string
		listed    []string
	}{
		"pods and what makes them": {
			documents: []string{labelled},
			objects:   stored{objects: map[string][]string{"Pod": {fmt.Sprintf(bare, "a")}, "Deployment": {fmt.Sprintf(template, "apps/v1", "Deployment")}, "CronJob": {cron}}},
			want:      []string{"Report p/r fail Pod/a", "Report p/autogen-r fail Deployment/x", "Report p/autogen-cronjob-r fail CronJob/x"},
			listed:    []string{"v1 Pod", "apps/v1 Deployment", "batch/v1 CronJob"},
		},
		"not in the background": {
			documents: []string{strings.Replace(labelled, "spec: {rules", "spec: {background: false, rules", 1)},
			objects:   stored{objects: map[string][]string{"Pod": {fmt.Sprintf(bare, "a")}}},
			want:      []string{},
		},
		"by who asks": {
			documents: []string{strings.Replace(labelled, "{resources: {kinds: [Pod]}}", "{resources: {kinds: [Pod]}, subjects: [{kind: User, name: ann}]}", 1)},
			objects:   stored{objects: map[string][]string{"Pod": {fmt.Sprintf(bare, "a")}}},
			want:      []string{"Report p/r skip Pod/a"}, listed: []string{"v1 Pod", "apps/v1 Deployment", "batch/v1 CronJob"},
		},
		"the version that the rule names": {
			documents: []string{strings.Replace(labelled, "kinds: [Pod]", "kinds: [example.com/v1/Widget]", 1)},
			objects:   stored{objects: map[string][]string{"Widget": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`}}},
			want:      []string{"ClusterReport p/r fail Widget/w"}, listed: []string{"example.com/v1 Widget"},
		},
		"each version that only some rule names": {
			documents: []string{
				strings.Replace(labelled, "kinds: [Pod]", "kinds: [example.com/v1/Widget]", 1),
				strings.NewReplacer("kinds: [Pod]", "kinds: [example.com/v2/Widget]", "name: p", "name: q").Replace(labelled),
				strings.NewReplacer("kinds: [Pod]", "kinds: [Widget]", "name: p", "name: every").Replace(labelled),
			},
			objects: stored{objects: map[string][]string{
				"example.com/v1 Widget": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`}, "example.com/v2 Widget": {`{apiVersion: example.com/v2, kind: Widget, metadata: {name: w}}`},
			}},
			want:   []string{"ClusterReport every/r fail Widget/w", "ClusterReport q/r fail Widget/w", "ClusterReport p/r fail Widget/w"},
			listed: []string{"example.com/v2 Widget", "example.com/v1 Widget"},
		},
		"a version that a filter names beside one that is about less": {
			documents: []string{strings.Replace(labelled, "{resources: {kinds: [Pod]}}", "{resources: {kinds: [Widget], names: [other]}}, {resources: {kinds: [example.com/v1/Widget]}}", 1)},
			objects: stored{objects: map[string][]string{
				"example.com/v1 Widget": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`}, "example.com/v2 Widget": {`{apiVersion: example.com/v2, kind: Widget, metadata: {name: w}}`},
			}},
			want:   []string{"ClusterReport p/r fail Widget/w"},
			listed: []string{"example.com/v2 Widget", "example.com/v1 Widget"},
		},
		"what cannot be listed is said": {
			documents: []string{labelled},
			objects:   stored{objects: map[string][]string{"Pod": {fmt.Sprintf(bare, "a")}}, broken: map[string]error{"Deployment": errors.New("forbidden")}},
			want:      []string{"ClusterReport sallyport/scan error /", "Report p/r fail Pod/a"},
			wantErr:   "objects of kind Deployment cannot be listed, and were not judged: forbidden",
			listed:    []string{"v1 Pod", "apps/v1 Deployment", "batch/v1 CronJob"},
		},
		"what cannot be read is said": {
			documents: []string{labelled},
			objects:   stored{objects: map[string][]string{"Pod": {`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: dev}, spec: {containers: 7}}`}}},
			want:      []string{"ClusterReport sallyport/scan error /"},
			wantErr:   "an object of kind Pod cannot be read",
			listed:    []string{"v1 Pod", "apps/v1 Deployment", "batch/v1 CronJob"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScanned(t, &c.objects, c.documents...)
			err := s.Scan(t.Context())
			if c.wantErr == "" && err != nil || c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)) {
				t.Errorf("error %v, want %q", err, c.wantErr)
			}
			if diff := cmp.Diff(c.want, s.lines()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.listed, c.objects.listed); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
			if name == "each version that only some rule names" && s.State().Objects != 1 {
				t.Errorf("%d objects", s.State().Objects)
			}
			if failed := s.State().Failures > 0; failed != (c.wantErr != "") {
				t.Errorf("state %+v", s.State())
			}
		})
	}
}

// TestScanHonoursExpiry judges the third of three pods at the second at which the
// exception ends.
func TestScanHonoursExpiry(t *testing.T) {
	objects := &stored{objects: map[string][]string{"Pod": {fmt.Sprintf(bare, "a"), fmt.Sprintf(bare, "b"), fmt.Sprintf(bare, "c")}}}
	s := newScanned(t, objects, labelled, excuse)
	objects.between = func() { s.clock.Step(time.Second) }
	if err := s.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	excused := " PolicyException dev/e, reason migration, until 2026-11-28T12:00:02Z"
	if diff := cmp.Diff([]string{"Report p/r skip Pod/a" + excused, "Report p/r skip Pod/b" + excused, "Report p/r fail Pod/c"}, s.lines()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	want := map[Count]int{{"ClusterPolicy", "p", "skip"}: 2, {"ClusterPolicy", "p", "fail"}: 1}
	if diff := cmp.Diff(want, s.State().Results); diff != "" || s.State().Objects != 3 {
		t.Errorf("state %+v (-want +got):\n%s", s.State(), diff)
	}
}

// TestNothingKnown keeps the reports that there are when the API server says
// nothing of what it serves.
func TestNothingKnown(t *testing.T) {
	objects := &stored{kinds: []Kind{}, err: errors.New("away")}
	s := newScanned(t, objects, labelled)
	s.kept.reports = []report.Report{*report.New("dev")}
	if err := s.Scan(t.Context()); err == nil || len(s.kept.reports) != 1 || s.State().Failures != 1 || !s.State().Finished.IsZero() {
		t.Errorf("error %v, reports %v, state %+v", err, s.kept.reports, s.State())
	}
}

// TestPages splits what would not fit into one object.
func TestPages(t *testing.T) {
	p := newPages()
	for i := range 2*pageSize + 1 {
		p.add("dev", &decision.Result{Status: decision.Fail, Rule: fmt.Sprint(i)})
		p.add("dev", &decision.Result{Status: decision.Pass})
	}
	var got []string
	for _, r := range p.all() {
		got = append(got, fmt.Sprint(r.Metadata.Name, " ", len(r.Results), " ", r.Summary.Pass, " ", r.Summary.Fail))
	}
	if diff := cmp.Diff([]string{"sallyport 250 501 250", "sallyport-2 250 0 250", "sallyport-3 1 0 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPagesAreShort keeps one long text from keeping a whole report from being
// written.
func TestPagesAreShort(t *testing.T) {
	p := newPages()
	long := strings.Repeat("x", 1<<20)
	for range 300 {
		p.add("dev", &decision.Result{Status: decision.Skip, Message: long, Exceptions: []decision.Exception{{Kind: "PolicyException", Name: "e", Reason: long}}})
	}
	reports := p.all()
	if len(reports) < 2 {
		t.Fatalf("%d reports", len(reports))
	}
	for i := range reports {
		raw, err := json.Marshal(reports[i])
		if err != nil || len(raw) > 2*pageBytes {
			t.Errorf("report %s has %d bytes, %v", reports[i].Metadata.Name, len(raw), err)
		}
	}
}

// TestRun scans when its time has come, and only where it leads.
func TestRun(t *testing.T) {
	s := newScanned(t, &stored{}, labelled)
	asked := make(chan bool)
	s.Leads = func() bool { return <-asked }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Scanner.Run(ctx) }()
	step := func(leads bool) {
		for !s.clock.HasWaiters() {
			if ctx.Err() != nil {
				return
			}
		}
		s.clock.Step(time.Hour)
		asked <- leads
	}
	step(false)
	step(true)
	step(false)
	if s.State().Finished.IsZero() {
		t.Error("it did not scan")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
