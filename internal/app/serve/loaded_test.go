package serve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// waiting is a registry that answers when it is let, and has nothing.
type waiting struct{ answer chan struct{} }

func (w *waiting) Fetch(ctx context.Context, _ string) (*fetch.Module, error) {
	select {
	case <-w.answer:
		return nil, errors.New("not found")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestModulesAreReady once policies are there and the module of each was loaded, or failed
// to be, and stays so: a later one does not have the server refuse what it judged before.
// Before that, only modules of the whole cluster keep everything from being judged.
func TestModulesAreReady(t *testing.T) {
	for name, c := range map[string]struct {
		kind, namespace string
		known           string
	}{
		"of the cluster":   {"ClusterAdmissionPolicy", "", "the module of "},
		"of a namespace":   {"AdmissionPolicy", "dev", ""},
		"none, and unread": {"", "", "the policies are not there yet"},
	} {
		t.Run(name, func(t *testing.T) {
			registry, changed := &waiting{make(chan struct{})}, make(chan struct{}, 10)
			host := runner.NewHost(runner.Options{
				Fetcher: registry, Context: &contextgate.Gate{Mapper: contextgate.Guess{}}, Clock: clock.RealClock{}, Log: logr.Discard(),
				Changed: func() { changed <- struct{}{} },
			})
			t.Cleanup(host.Close)
			store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
			store.Run(host)
			there := c.kind != ""
			h := &servedModules{ModuleHost: &option.ModuleHost{Host: host}, store: store, read: func() bool { return there }}
			add := func(name string) {
				t.Helper()
				raw, err := yaml.YAMLToJSON([]byte("apiVersion: sallyport.io/v1alpha1\nkind: " + c.kind + "\nmetadata: {name: " + name + ", namespace: '" + c.namespace + "'}\n" +
					`spec: {module: "https://modules.example/` + name + `.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`))
				if err != nil {
					t.Fatal(err)
				}
				var sources policy.Sources
				if problems := sources.Add(schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: c.kind}, raw, "test"); len(problems) > 0 {
					t.Fatal(problems)
				}
				if problems := store.Replace("test", sources); len(problems) > 0 {
					t.Fatal(problems)
				}
				h.want()
			}
			known := h.known()
			if there {
				add("first")
				if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "is being loaded") {
					t.Errorf("ready: %v", err)
				}
			}
			if err := known(); (err == nil) != (c.known == "") || err != nil && !strings.Contains(err.Error(), c.known) {
				t.Errorf("known: %v, want %q", err, c.known)
			}
			if !there {
				there = true
			} else {
				close(registry.answer)
				for h.Ready() != nil {
					<-changed
				}
			}
			ready := func(when string) {
				t.Helper()
				if err := errors.Join(h.Ready(), known()); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			ready("once the first have come to something")
			if c.kind != "" {
				registry.answer = make(chan struct{})
				add("later")
				ready("while a later one is loaded")
			}
		})
	}
}
