package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// newTestSource loads a directory and returns what it logs.
func newTestSource(t *testing.T, files map[string]string) (*fileSource, *policy.Store, *bytes.Buffer) {
	t.Helper()
	filestest.InDir(t, files)
	var log bytes.Buffer
	store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
	f, err := newFileSource([]string{"."}, store, &contexthost.Files{}, noClusters(t), slog.New(slog.NewTextHandler(&log, nil)), clocktesting.NewFakeClock(time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return f, store, &log
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReload follows a directory through changes. What is in force is told by
// its number of policies and by a pod.
func TestReload(t *testing.T) {
	f, store, log := newTestSource(t, map[string]string{"guard.yaml": filestest.GuardPolicy, "pods.yaml": filestest.GoodPod})
	steps := []struct {
		name     string
		change   func()
		policies int
		pod      string
		failures int
		logs     string
	}{
		{"a policy more", func() { put(t, "base.yaml", filestest.BaselinePolicy) }, 2, "good", 0, "clusterPolicies=1"},
		{"a broken policy, and another pod", func() {
			put(t, "guard.yaml", strings.Replace(filestest.GuardPolicy, "hostPID", "hostPidd", 1))
			put(t, "pods.yaml", filestest.BadPod)
		}, 2, "good", 1, "field=spec.podSecurityRules.blockFactors[0]"},
		{"an unreadable file as well", func() { put(t, "x.yaml", "kind: [") }, 2, "good", 2, `origin="x.yaml, document 1"`},
		{"all is well again", func() {
			put(t, "guard.yaml", filestest.GuardPolicy)
			put(t, "x.yaml", "")
		}, 2, "bad", 2, ""},
		{"a pod twice", func() { put(t, "x.yaml", filestest.BadPod) }, 2, "bad", 3, "is there twice"},
		{"every policy is gone", func() {
			put(t, "x.yaml", "")
			put(t, "guard.yaml", "")
			put(t, "base.yaml", "")
		}, 2, "bad", 4, `msg="a change of the policies was refused; the last good ones stay in force" problem="no policy was found in .`},
		{"one is back", func() { put(t, "base.yaml", filestest.BaselinePolicy) }, 1, "bad", 4, ""},
	}
	for _, step := range steps {
		log.Reset()
		step.change()
		f.reload()
		counts := store.Set().Counts()
		if got := counts.ClusterPolicies + counts.DenyPolicies; got != step.policies {
			t.Errorf("%s: %d policies, want %d", step.name, got, step.policies)
		}
		if _, err := f.cluster.Pod(context.Background(), "default", step.pod); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if strings.Contains(log.String(), `=""`) {
			t.Errorf("%s: the log has keys without a value: %s", step.name, log)
		}
		state := store.State()
		if state.Failures != step.failures {
			t.Errorf("%s: %d failures, want %d", step.name, state.Failures, step.failures)
		}
		if refused := strings.Contains(log.String(), "was refused"); refused != (len(state.Problems) > 0) || !strings.Contains(log.String(), step.logs) {
			t.Errorf("%s: state %v, log %s", step.name, state.Problems, log)
		}
	}
}

// TestReloadOutlivesAPanic refuses files that make compiling panic, as it does those
// that are wrong.
func TestReloadOutlivesAPanic(t *testing.T) {
	f, store, log := newTestSource(t, map[string]string{"guard.yaml": filestest.GuardPolicy})
	before := store.Set()
	f.read = func([]string, io.Reader) *load.Result { panic("a nil map") }
	f.reload()
	state := store.State()
	if len(state.Problems) != 1 || !strings.Contains(state.Problems[0].Error(), ".: cannot be compiled, which is a fault of Sallyport; please report it: a nil map") || state.Failures != 1 {
		t.Errorf("%+v", state)
	}
	if store.Set() != before || !strings.Contains(log.String(), "the last good ones stay in force") {
		t.Errorf("%s", log)
	}
	f.read = load.Policies
	if f.reload(); len(store.State().Problems) > 0 {
		t.Errorf("%+v", store.State())
	}
	f.read = func([]string, io.Reader) *load.Result { panic("again") }
	if err := f.load(); err == nil || !strings.Contains(err.Error(), "again") {
		t.Errorf("the first load: %v", err)
	}
}

func TestReloadFollowsTheFiles(t *testing.T) {
	f, store, _ := newTestSource(t, map[string]string{"guard.yaml": filestest.GuardPolicy})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	put(t, "base.yaml", filestest.BaselinePolicy)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	f.watcher = load.NewWatcher(f.paths, clock)
	put(t, "more.yaml", strings.Replace(filestest.GuardPolicy, "guard", "more", 1))
	go func() { done <- f.Run(ctx) }()
	deadline := time.After(20 * time.Second)
	for store.Set().Counts().DenyPolicies != 2 {
		select {
		case <-deadline:
			t.Fatal("the change was not accepted")
		default:
			clock.Step(time.Second)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := f.cluster.Namespace(context.Background(), "none"); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

func TestFirstLoadFails(t *testing.T) {
	filestest.InDir(t, map[string]string{"p/guard.yaml": strings.Replace(filestest.GuardPolicy, "hostPID", "hostPidd", 1), "empty/x.yaml": ""})
	for path, says := range map[string]string{"p": "hostPidd", "empty": "no policy was found in empty", "nowhere": "nowhere: cannot be read"} {
		_, err := newFileSource([]string{path}, policy.NewStore(pod.Default(), time.Now, exception.Options{}), &contexthost.Files{}, noClusters(t), slog.New(slog.DiscardHandler), clocktesting.NewFakeClock(time.Unix(0, 0)))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}
