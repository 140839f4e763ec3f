package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

var (
	namespaces = contextgate.Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"}
	pods       = contextgate.Resource{Version: "v1", Resource: "pods", Kind: "Pod", Namespaced: true}
)

// lab is an inventory of a server, and counts the watches of it.
type lab struct {
	*inventory.Inventory
	server                     *clustertest.Server
	watches, opened, forbidden atomic.Int64
	// expired has every page but the first be too old.
	expired atomic.Bool
}

func (l *lab) RoundTrip(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if l.forbidden.Load() != 0 {
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`
		return &http.Response{StatusCode: 403, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
	}
	if l.expired.Load() && request.URL.Query().Get("continue") != "" {
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"the page is too old"}`
		return &http.Response{StatusCode: 410, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
	}
	response, err := next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Get("watch") != "" {
		l.watches.Add(1)
		l.opened.Add(1)
		response.Body = &counted{ReadCloser: response.Body, open: &l.watches}
	}
	return response, err
}

type counted struct {
	io.ReadCloser
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.ReadCloser.Close()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newLab(t testing.TB, options inventory.Options, objects ...k8sruntime.Object) *lab {
	t.Helper()
	l := &lab{server: clustertest.NewServer(t, objects...)}
	config := l.server.Config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return l.RoundTrip(r, next) })
	}
	var err error
	if l.Inventory, err = inventory.New(config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// admit makes an admitted read of a policy with one grant.
func admit(t testing.TB, r contextgate.Resource, grant contextgate.Grant, read hostcall.Read) *contextgate.Admitted {
	t.Helper()
	grant.Version, grant.Resource = r.Version, r.Resource
	policy, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", "p", []contextgate.Grant{grant}, nil)
	if err != nil {
		t.Fatal(err)
	}
	read.APIVersion, read.Kind = r.APIVersion(), r.Kind
	gate := &contextgate.Gate{Mapper: contextgate.Guess{Cluster: []string{"Namespace"}}}
	admitted, err := gate.AdmitRead(t.Context(), policy, &read)
	if err != nil {
		t.Fatal(err)
	}
	return admitted
}

func names(t testing.TB, answer []byte) string {
	t.Helper()
	var l struct {
		Kind  string
		Items []struct{ Metadata metav1.ObjectMeta }
	}
	if err := json.Unmarshal(answer, &l); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var found []string
	for _, o := range l.Items {
		found = append(found, o.Metadata.Name)
	}
	return l.Kind + ": " + strings.Join(found, " ")
}

func pod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: labels,
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{NodeName: "n-" + name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	l := newLab(t, inventory.Options{}, pod("a", "x", map[string]string{"t": "1"}), pod("a", "y", nil), pod("b", "x", map[string]string{"t": "1"}))
	defer l.Hold(pods)()
	byLabel := contextgate.Grant{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"t": "1"}}}
	for name, c := range map[string]struct {
		grant contextgate.Grant
		read  hostcall.Read
		want  string
	}{
		"all":          {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll}, "PodList: x y x"},
		"a namespace":  {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListByNamespace, Namespace: "a"}, "PodList: x y"},
		"by label":     {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll, LabelSelector: "t=1"}, "PodList: x x"},
		"by field":     {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll, FieldSelector: "spec.nodeName=n-y"}, "PodList: y"},
		"by name":      {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll, FieldSelector: "metadata.name!=x"}, "PodList: y"},
		"what granted": {contextgate.Grant{Namespaces: []string{"b"}}, hostcall.Read{Operation: hostcall.ListAll}, "PodList: x"},
		"by its label": {byLabel, hostcall.Read{Operation: hostcall.ListByNamespace, Namespace: "a"}, "PodList: x"},
		"nothing":      {contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListByNamespace, Namespace: "none"}, "PodList: "},
	} {
		for _, live := range []bool{false, true} {
			c.read.DisableCache = live
			trace := &inventory.Trace{}
			answer, err := l.Read(inventory.WithTrace(t.Context(), trace), admit(t, pods, c.grant, c.read))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := names(t, answer); got != c.want {
				t.Errorf("%s, live %t: %s, want %s", name, live, got, c.want)
			}
			readings := trace.Readings()
			if len(readings) != 1 || readings[0].Direct != live || readings[0].At.IsZero() || !live && readings[0].Age > time.Minute {
				t.Errorf("%s: recorded %+v", name, readings)
			}
		}
	}
	for _, live := range []bool{false, true} {
		get := hostcall.Read{Operation: hostcall.GetResource, Namespace: "a", Name: "x", DisableCache: live, FieldMasks: []string{"metadata.annotations", "metadata.managedFields", "spec.containers.image"}}
		answer, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, get))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"kept":"yes"},"name":"x","namespace":"a"},"spec":{"containers":[{"image":"i"}]}}`
		if diff := cmp.Diff(want, string(answer)); diff != "" {
			t.Error(diff)
		}
		get.Name, get.FieldMasks = "none", nil
		if _, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, get)); err == nil || err.Error() != `pods "a/none" not found` {
			t.Errorf("an object that is not there: %v", err)
		}
		get.Name = "y"
		if _, err := l.Read(t.Context(), admit(t, pods, byLabel, get)); err != contextgate.ErrHidden { //nolint:errorlint // given back as it is
			t.Errorf("an object that is hidden: %v", err)
		}
		get.Name = "../../b/pods/x"
		if answer, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, get)); err == nil {
			t.Errorf("a name that is a path was read: %s", answer)
		}
	}
}

func TestWatchesFollowPolicies(t *testing.T) {
	l := newLab(t, inventory.Options{}, pod("a", "x", nil))
	var releases []func()
	for range 50 {
		releases = append(releases, l.Hold(pods, namespaces))
	}
	list := admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll})
	for range 50 {
		if _, err := l.Read(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "two watches", func() bool { return l.watches.Load() == 2 })
	if status := l.Status(); len(status) != 2 || status[1].Holders != 50 || status[1].Objects != 1 || !status[1].Synced || status[1].Heard.IsZero() || status[1].Bytes == 0 {
		t.Errorf("status %+v", status)
	}
	l.server.Set(pod("a", "y", nil))
	until(t, "the new pod", func() bool {
		answer, err := l.Read(t.Context(), list)
		return err == nil && names(t, answer) == "PodList: x y"
	})
	l.server.Delete(pod("a", "x", nil))
	until(t, "the pod's end", func() bool {
		answer, err := l.Read(t.Context(), list)
		return err == nil && names(t, answer) == "PodList: y"
	})
	for _, release := range releases[1:] {
		release()
		release()
	}
	if l.watches.Load() != 2 {
		t.Errorf("%d watches while one policy holds both resources", l.watches.Load())
	}
	releases[0]()
	until(t, "no watch", func() bool { return l.watches.Load() == 0 && l.Bytes() == 0 })
	if l.opened.Load() != 2 || len(l.Status()) != 0 {
		t.Errorf("%d watches were opened in all, %d copies are left", l.opened.Load(), len(l.Status()))
	}
}

func TestMissingRights(t *testing.T) {
	l := newLab(t, inventory.Options{}, pod("a", "x", nil))
	l.forbidden.Store(1)
	defer l.Hold(pods)()
	until(t, "the error", func() bool { return len(l.Status()) == 1 && l.Status()[0].Err != nil })
	list := admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll})
	begin := time.Now()
	if _, err := l.Read(t.Context(), list); err == nil || !strings.Contains(err.Error(), "may not get, list and watch") || time.Since(begin) > time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	l.forbidden.Store(0)
	until(t, "the pods", func() bool { _, err := l.Read(t.Context(), list); return err == nil })
}

// TestPagesThatAreTooOld: a copy holds everything, and not the first page, where each of
// the others is too old by the time that it is asked for.
func TestPagesThatAreTooOld(t *testing.T) {
	var objects []k8sruntime.Object
	for i := range 1200 {
		objects = append(objects, pod("a", fmt.Sprintf("p-%04d", i), nil))
	}
	l := newLab(t, inventory.Options{}, objects...)
	l.expired.Store(true)
	defer l.Hold(pods)()
	until(t, "the copy", func() bool { s := l.Status(); return len(s) == 1 && s[0].Synced })
	if got := l.Status()[0].Objects; got != len(objects) {
		t.Errorf("the copy has %d objects of %d", got, len(objects))
	}
}

func TestNeverReady(t *testing.T) {
	l := newLab(t, inventory.Options{})
	l.server.Hang()
	defer l.Hold(pods)()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Read(ctx, admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll})); err == nil || !strings.Contains(err.Error(), "pods cannot be read") {
		t.Error(err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var objects []k8sruntime.Object
	for i := range 2000 {
		objects = append(objects, pod("a", fmt.Sprintf("p-%04d", i), nil))
	}
	l := newLab(t, inventory.Options{MaxBytes: 100_000}, objects...)
	defer l.Hold(pods)()
	until(t, "the copy to be given up", func() bool { s := l.Status(); return len(s) == 1 && s[0].Err != nil && l.Bytes() == 0 })
	if _, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll})); err == nil || !strings.Contains(err.Error(), "MiB that they may") {
		t.Error(err)
	}
	l = newLab(t, inventory.Options{MaxAnswer: 4000}, objects[:50]...)
	if _, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll})); err == nil || !strings.Contains(err.Error(), "are read at most") {
		t.Error(err)
	}
}

// TestTwentyThousandObjects holds the estimate of a copy's memory to what the
// program takes.
func TestTwentyThousandObjects(t *testing.T) {
	var objects []k8sruntime.Object
	for i := range 20_000 {
		objects = append(objects, pod(fmt.Sprintf("ns-%d", i%100), fmt.Sprintf("p-%05d", i), map[string]string{"a": "b"}))
	}
	l := newLab(t, inventory.Options{}, objects...)
	objects = nil
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer l.Hold(pods)()
	until(t, "the copy", func() bool { s := l.Status(); return len(s) == 1 && s[0].Synced })
	if _, err := l.Read(t.Context(), admit(t, pods, contextgate.Grant{}, hostcall.Read{Operation: hostcall.ListAll, FieldMasks: []string{"metadata.labels"}})); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	took, said := int64(after.HeapAlloc)-int64(before.HeapAlloc), l.Bytes()
	t.Logf("20,000 pods: said %d KiB, took %d KiB", said>>10, took>>10)
	if said < 1<<20 || took > 2*said {
		t.Errorf("the copy is said to take %d bytes and takes %d", said, took)
	}
}

func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !clustertest.Eventually(time.Minute, condition) {
		t.Fatalf("waited too long for %s", what)
	}
}
