package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

var prodPolicy = strings.Replace(guardPolicy, "spec: {", `spec: {appliesTo: {clusters: ["prod-*"]}, `, 1)

// TestCommandsTellWhatCoversNothing says that a policy which names clusters is
// not passed over without a word where the cluster has no name.
func TestCommandsTellWhatCoversNothing(t *testing.T) {
	inDir(t, map[string]string{
		"prod.yaml": prodPolicy, "all.yaml": guardPolicy, "pods.yaml": goodPod,
		"review.json": strings.Replace(accessReview, "NAME", "good", 1),
	})
	const warning = "warning: DenyPolicy guard covers nothing: it is for the clusters prod-*, and this cluster has no name; give it one with --cluster\n"
	const open = "note: DenyPolicy guard judges exec, attach, portforward, and no policy judges ephemeralcontainers, proxy, nodes/proxy as strictly, by which the same pods are reached\n"
	for _, tt := range []struct{ name, args, stderr string }{
		{"access", "access exec default/good -p prod.yaml -p pods.yaml", warning},
		{"access, as JSON", "access exec default/good -p prod.yaml -p pods.yaml -o json", warning},
		{"access, named", "access exec default/good -p prod.yaml -p pods.yaml --cluster prod-eu", open},
		{"access, another", "access exec default/good -p prod.yaml -p pods.yaml --cluster dev", ""},
		{"access, no scope", "access exec default/good -p all.yaml -p pods.yaml", open},
		{"review", "review -p prod.yaml -p pods.yaml review.json", warning},
		{"review, named", "review -p prod.yaml -p pods.yaml review.json --cluster dev", ""},
		{"check", "check -p prod.yaml pods.yaml", warning},
		{"check, named", "check -p prod.yaml pods.yaml --cluster prod-eu", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, stderr := run(t, "", strings.Fields(tt.args)...)
			if status != 0 || stderr != tt.stderr {
				t.Errorf("status %d, standard error %q; want 0, %q", status, stderr, tt.stderr)
			}
		})
	}
}

// TestReloadTellsWhatCoversNothing follows the log of a server from its start
// through its reloads.
func TestReloadTellsWhatCoversNothing(t *testing.T) {
	for _, tt := range []struct {
		name, cluster string
		lines         int
	}{{"no name", "", 1}, {"a name", "dev", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			inDir(t, map[string]string{"p.yaml": prodPolicy})
			var buffer bytes.Buffer
			log := slog.New(slog.NewTextHandler(&buffer, nil))
			store := policy.NewStore(pod.Default(), time.Now, pass.Options{})
			store.Watch(warnUncovered(log, tt.cluster))
			f, err := newFileSource([]string{"."}, store, &contexthost.Files{}, noClusters(t), log, clocktesting.NewFakeClock(time.Unix(0, 0)))
			if err != nil {
				t.Fatal(err)
			}
			expect := func(when string) {
				t.Helper()
				if got := strings.Count(buffer.String(), `level=WARN msg="DenyPolicy guard covers nothing: it is for the clusters prod-*, and this cluster has no name; give it one with --cluster-name"`); got != tt.lines {
					t.Errorf("%s: %d warnings, want %d: %s", when, got, tt.lines, &buffer)
				}
				buffer.Reset()
			}
			expect("at the start")
			put(t, "more.yaml", baselinePolicy)
			f.reload()
			expect("after a change")
		})
	}
}
