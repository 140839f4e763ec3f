package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func TestLive(t *testing.T) {
	server := clustertest.NewServer(t, web(), namespace("shop", map[string]string{"team": "a"}))
	live := newTestLive(t, server)
	pod, err := live.Pod(t.Context(), "shop", "web")
	if err != nil || pod.Spec.Containers[0].Image != "app:1" {
		t.Errorf("pod: %v, %v", pod, err)
	}
	ns, err := live.Namespace(t.Context(), "shop")
	if err != nil || ns.Labels["team"] != "a" {
		t.Errorf("namespace: %v, %v", ns, err)
	}
	changed := web()
	changed.Spec.Containers[0].Image = "app:2"
	server.Set(changed)
	if pod, err = live.Pod(t.Context(), "shop", "web"); err != nil || pod.Spec.Containers[0].Image != "app:2" {
		t.Errorf("the pod that was made again: %v, %v", pod, err)
	}
	if !live.HasSynced() || live.WaitForSync(t.Context()) != nil {
		t.Error("nothing is watched, and still something is waited for")
	}
}

func TestLiveNotFound(t *testing.T) {
	live := newTestLive(t, clustertest.NewServer(t, web()))
	if _, err := live.Pod(t.Context(), "shop", "gone"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "pod shop/gone does not exist") {
		t.Errorf("pod: %v", err)
	}
	if _, err := live.Namespace(t.Context(), "gone"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "namespace gone does not exist") {
		t.Errorf("namespace: %v", err)
	}
}

// TestLiveOddNames shows that a name reaches the server as a name or not at all.
func TestLiveOddNames(t *testing.T) {
	server := clustertest.NewServer(t, web())
	live := newTestLive(t, server)
	for _, name := range []string{"", ".", "..", "a/b", "../web", "%2e%2e", "web?x=1", "web#", "we b", "\x00", "é", strings.Repeat("a", 4096)} {
		for _, read := range []func() error{
			func() error { _, err := live.Pod(t.Context(), "shop", name); return err },
			func() error { _, err := live.Pod(t.Context(), name, "web"); return err },
			func() error { _, err := live.Namespace(t.Context(), name); return err },
		} {
			if err := read(); err == nil {
				t.Errorf("%.20q was found", name)
			}
		}
	}
	if _, err := live.PodsOnNode(t.Context(), ""); err == nil {
		t.Error("the pods of no node were read")
	}
	if pods, err := live.PodsOnNode(t.Context(), "x,metadata.name=web"); err != nil || len(pods) != 0 {
		t.Errorf("a node name was read as a selector: %v, %v", pods, err)
	}
}

func TestLivePodsOnNode(t *testing.T) {
	server := clustertest.NewServer(t)
	for i := range 2*pageSize + 3 {
		pod := web()
		pod.Name = fmt.Sprintf("web-%04d", i)
		server.Set(pod)
	}
	other := web()
	other.Spec.NodeName = "node-2"
	server.Set(other)
	pods, err := newTestLive(t, server).PodsOnNode(t.Context(), "node-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 2*pageSize+3 || pods[0].Name != "web-0000" || pods[len(pods)-1].Name != "web-1002" {
		t.Errorf("%d pods", len(pods))
	}
	if server.Requests() != 3 {
		t.Errorf("%d pages, want 3", server.Requests())
	}
}

// TestPodsOfOtherNodesAreLeftOut: a server that passes over the selector must
// not make another node's pods count.
func TestPodsOfOtherNodesAreLeftOut(t *testing.T) {
	server := clustertest.NewServer(t)
	server.Raw(200, "application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[
		{"metadata":{"name":"a"},"spec":{"nodeName":"node-1"}},{"metadata":{"name":"b"},"spec":{"nodeName":"node-2"}}]}`)
	pods, err := newTestLive(t, server).PodsOnNode(t.Context(), "node-1")
	if err != nil || len(pods) != 1 || pods[0].Name != "a" {
		t.Errorf("%v, %v", pods, err)
	}
}

// TestEndlessPages shows that a server that always has one more page is left
// when the time is over.
func TestEndlessPages(t *testing.T) {
	server := clustertest.NewServer(t)
	server.Raw(200, "application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"again"},"items":[]}`)
	if _, err := newTestLive(t, server, WithReadTimeout(100*time.Millisecond)).PodsOnNode(t.Context(), "node-1"); !isDeadline(err) {
		t.Errorf("want a time-out, got %v", err)
	}
}

func TestClientHeaders(t *testing.T) {
	server := clustertest.NewServer(t, web())
	config := server.Config()
	config.QPS = 0.001
	var seen http.Header
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			seen = r.Header.Clone()
			return next.RoundTrip(r)
		})
	})
	live, err := NewLive(config, WithUserAgent("sallyport/9.9"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	// More reads than the limit of the configuration lets through in an hour.
	for range 50 {
		if _, err := live.Pod(t.Context(), "shop", "web"); err != nil {
			t.Fatal(err)
		}
	}
	if got := seen.Get("User-Agent"); got != "sallyport/9.9" {
		t.Errorf("User-Agent: %q", got)
	}
	if got := seen.Get("Accept"); !strings.HasPrefix(got, "application/vnd.kubernetes.protobuf,") {
		t.Errorf("Accept: %q", got)
	}
	if config.UserAgent != "" || config.Dial != nil {
		t.Error("the configuration that was given was changed")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewLiveRefuses(t *testing.T) {
	for name, make := range map[string]func() error{
		"no configuration": func() error { _, err := NewLive(nil); return err },
		"no time":          func() error { _, err := NewLive(&rest.Config{}, WithReadTimeout(0)); return err },
		"a bad address":    func() error { _, err := NewLive(&rest.Config{Host: "http://["}); return err },
		"a missing CA": func() error {
			_, err := NewCached(&rest.Config{Host: "https://x", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := make(); err == nil {
				t.Error("was accepted")
			}
		})
	}
}

func TestPowersNotWatched(t *testing.T) {
	live := newTestLive(t, clustertest.NewServer(t))
	if _, err := live.ServiceAccountPowers(t.Context(), "shop", "web"); !errors.Is(err, ErrRBACNotWatched) {
		t.Errorf("want ErrRBACNotWatched, got %v", err)
	}
}

// TestRedirect says that nobody sends a read elsewhere.
func TestRedirect(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	live, err := NewLive(&rest.Config{Host: server.URL, BearerToken: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := live.Pod(t.Context(), "shop", "web"); err == nil || asked {
		t.Errorf("error %v, and another server was asked: %v", err, asked)
	}
	if err := live.Ping(t.Context()); err == nil || asked {
		t.Errorf("ping: error %v, and another server was asked: %v", err, asked)
	}
}
