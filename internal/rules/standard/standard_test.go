package standard

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		level   v1alpha1.StandardLevel
		version string
		hosts   v1alpha1.ProbeHosts
		want    string
		wantErr string
	}{
		{name: "no version", level: "restricted", want: "restricted:latest"},
		{name: "latest", level: "baseline", version: "latest", want: "baseline:latest"},
		{name: "minor version", level: "baseline", version: "v1.33", hosts: "kubernetes", want: "baseline:v1.33"},
		{name: "first version", level: "restricted", version: "v1.0", want: "restricted:v1.0"},
		{name: "privileged", level: "privileged", version: "v1.30", want: "privileged:v1.30"},
		{name: "version of the future", level: "restricted", version: "v1.999", want: "restricted:v1.999"},
		{name: "no level", wantErr: `level "" is unknown: it must be privileged, baseline or restricted`},
		{name: "level in another case", level: "Restricted", wantErr: `level "Restricted" is unknown`},
		{name: "level with a space", level: "restricted ", wantErr: `level "restricted " is unknown`},
		{name: "namespace", level: "namespace", wantErr: `level "namespace" has no checks of its own`},
		{name: "unknown hosts", level: "baseline", hosts: "none", wantErr: `probeHosts "none" is unknown: it must be kep-4940 or kubernetes`},
		{name: "version without v", level: "baseline", version: "1.30", wantErr: `version "1.30" of the Pod Security Standards is unknown: it must be "latest" or "v1.x" such as "v1.34"`},
		{name: "patch version", level: "baseline", version: "v1.30.1", wantErr: `version "v1.30.1"`},
		{name: "leading zero", level: "baseline", version: "v1.030", wantErr: `version "v1.030"`},
		{name: "second major", level: "baseline", version: "v2.0", wantErr: `version "v2.0"`},
		{name: "trailing newline", level: "baseline", version: "v1.30\n", wantErr: `version "v1.30\n"`},
		{name: "number beyond all bounds", level: "baseline", version: "v1.99999999999999999999", wantErr: "is unknown"},
		{name: "negative", level: "baseline", version: "v1.-1", wantErr: "is unknown"},
		{name: "latest in another case", level: "baseline", version: "Latest", wantErr: `version "Latest"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(test.level, test.version, test.hosts)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestStandardsAreShared(t *testing.T) {
	t.Parallel()
	if mustNew(t, "restricted", "", "") != mustNew(t, "restricted", "latest", v1alpha1.ProbeHostsKEP4940) {
		t.Error("equal standards are two")
	}
	if mustNew(t, "restricted", "v1.99", "").plan != mustNew(t, "restricted", "latest", "").plan {
		t.Error("a version of the future is not judged as the latest")
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	p := parse(t, `
metadata: {name: agent}
spec:
  hostNetwork: true
  hostPID: true
  containers:
  - {name: x, image: x, securityContext: {privileged: true}}
  - {name: "y", image: "y"}
`)
	tests := []struct{ level, version, want string }{
		{"privileged", "latest", ""},
		{"baseline", "latest", `host namespaces (hostNetwork=true, hostPID=true), privileged (container "x" must not set securityContext.privileged=true)`},
		{"restricted", "v1.7", `host namespaces (hostNetwork=true, hostPID=true), privileged (container "x" must not set securityContext.privileged=true), runAsNonRoot != true (pod or containers "x", "y" must set securityContext.runAsNonRoot=true)`},
	}
	for _, test := range tests {
		s := mustNew(t, v1alpha1.StandardLevel(test.level), test.version, "")
		if diff := cmp.Diff(test.want, Message(s.Check(p))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s, diff)
		}
	}
	if got := Message([]Violation{{Reason: "a"}, {Reason: "b", Detail: "c"}}); got != "a, b (c)" {
		t.Errorf("without a detail: %q", got)
	}
}

// TestPathsStartAtTheObject holds for findings in templates.
func TestPathsStartAtTheObject(t *testing.T) {
	t.Parallel()
	p := parse(t, `
metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined}}
spec: {hostIPC: true, containers: [{name: a, image: a, ports: [{containerPort: 1, hostPort: 80}]}]}
`)
	p.Path = "spec.jobTemplate.spec.template"
	var got []string
	for _, v := range mustNew(t, "baseline", "", "").Check(p) {
		for _, f := range v.Findings {
			got = append(got, f.Path)
		}
	}
	want := []string{
		"spec.jobTemplate.spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]",
		"spec.jobTemplate.spec.template.spec.hostIPC",
		"spec.jobTemplate.spec.template.spec.containers[0].ports[0].hostPort",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestFindingsDoNotShare holds that a caller may append to one violation's
// findings, and that a later check does not write into an earlier answer.
func TestFindingsDoNotShare(t *testing.T) {
	t.Parallel()
	s := mustNew(t, "restricted", "", "")
	first := s.Check(parse(t, riskyPod))
	want := s.Check(parse(t, riskyPod))
	longer := append(first[0].Findings, decision.Finding{Path: "elsewhere"})
	if len(longer) != len(want[0].Findings)+1 {
		t.Errorf("%d findings after appending one to %d", len(longer), len(want[0].Findings))
	}
	s.Check(parse(t, `{spec: {hostPID: true, containers: [{name: other, image: other}]}}`))
	if diff := cmp.Diff(want, first, cmpopts.IgnoreUnexported(Violation{})); diff != "" {
		t.Errorf("the first answer changed (-want +got):\n%s", diff)
	}
}

// TestManyAtOnce checks different pods by one standard at the same time.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := mustNew(t, "restricted", "", "")
	bad, good := parse(t, riskyPod), parse(t, restrictedPod)
	want := Message(s.Check(bad))
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 200 {
				if got := Message(s.Check(bad)); got != want {
					t.Errorf("got %q", got)
				}
				if got := s.Check(good); got != nil {
					t.Errorf("got %q of a pod that complies", Message(got))
				}
			}
		})
	}
	running.Wait()
}
