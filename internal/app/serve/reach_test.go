package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestReloadTellsWhatCoversNothing follows the log of a server from its start
// through its reloads.
func TestReloadTellsWhatCoversNothing(t *testing.T) {
	for _, tt := range []struct {
		name, cluster string
		lines         int
	}{{"no name", "", 1}, {"a name", "dev", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			filestest.InDir(t, map[string]string{"p.yaml": filestest.ProdPolicy})
			var buffer bytes.Buffer
			log := slog.New(slog.NewTextHandler(&buffer, nil))
			store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
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
			put(t, "more.yaml", filestest.BaselinePolicy)
			f.reload()
			expect("after a change")
		})
	}
}
