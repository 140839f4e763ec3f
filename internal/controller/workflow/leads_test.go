package workflow

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// discovered is what an API server answers that has pods.
var discovered = map[string]string{
	"/api": `{"kind":"APIVersions","versions":["v1"]}`, "/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]}`,
}

// TestOnlyWhoLeadsWrites what one replica writes, also what it decided when it led. What
// each counted is written by each.
func TestOnlyWhoLeadsWrites(t *testing.T) {
	var written []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, discovered[r.URL.Path])
			return
		}
		written = append(written, r.Method+" "+r.URL.Path)
		_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"dev"}}`)
	}))
	t.Cleanup(api.Close)
	leads := true
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewController(Options{
		Config: &rest.Config{Host: api.URL}, Scheme: scheme, Leads: func() bool { return leads }, Clock: clock.RealClock{}, Log: logr.Discard(),
		Followed: ours.New(ours.Options{Clock: clock.RealClock{}, Log: logr.Discard()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "dev", UID: "1"}}
	for what, writer := range map[string]client.Client{"client": c.client, "direct": c.direct, "counts": c.counts} {
		for how, write := range map[string]func() error{
			"an eviction": func() error {
				c := &Controller{direct: writer}
				_, err := c.evict(t.Context(), pod)
				return err
			},
			"an object": func() error { return writer.Create(t.Context(), pod.DeepCopy()) },
			"a status":  func() error { return writer.Status().Patch(t.Context(), pod.DeepCopy(), client.MergeFrom(pod)) },
			"an end":    func() error { return writer.Delete(t.Context(), pod.DeepCopy()) },
		} {
			for _, leads = range []bool{true, false} {
				written = nil
				err := write()
				through := leads || what == "counts"
				if through != (err == nil) || through != (len(written) == 1) || err != nil && !strings.Contains(err.Error(), "another replica leads now") {
					t.Errorf("%s by %s, leads %v: %v, written %q", how, what, leads, err, written)
				}
			}
		}
	}
}
