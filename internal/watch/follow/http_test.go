package follow

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// spoken is an API server by what it says on the wire.
type spoken struct {
	mu    sync.Mutex
	names []string
	// version is that of lists.
	version string
	// watch is what each watch from a version before this one says before it ends.
	watch string
	// pages is set where lists come in pages, of which only the first is given.
	pages bool
}

func (s *spoken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	if query.Get("watch") != "" {
		_, _ = w.Write([]byte(s.watch))
		return
	}
	if query.Get("continue") != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"invalid continue token: continue key is not valid","reason":"BadRequest","code":400}`))
		return
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "ThingList"}}
	list.SetResourceVersion(s.version)
	for _, name := range s.names {
		if s.pages && query.Get("limit") != "" && len(list.Items) == 1 {
			list.SetContinue("bm90IG1pbmU")
			break
		}
		o := unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}
		o.SetName(name)
		o.SetResourceVersion("1")
		list.Items = append(list.Items, o)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// TestAnswersThatAreCut are about the way to the API server, and not about what was asked.
func TestAnswersThatAreCut(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"ThingList",`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}).List(t.Context(), metav1.ListOptions{})
		if err == nil || !momentary(err) {
			t.Errorf("HTTP/2 %t: %v", http2, err)
		}
	}
}

// TestOnTheWire has what changes come by lists where client-go reads watches that end at
// once or cannot be decoded, and pages that an API server refuses.
func TestOnTheWire(t *testing.T) {
	for name, says := range map[string]string{
		"nothing":         "",
		"no object":       `{"type":"ADDED","object":"x"}` + "\n",
		"no event":        "<html>\n",
		"an error":        `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is broken","code":500}}` + "\n",
		"an unknown type": `{"type":"CHANGED","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"1"}}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := &spoken{names: []string{"a", "b"}, version: "10", watch: says, pages: true}
			server := httptest.NewServer(s)
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			things := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
			book := known.NewBook(time.Now())
			example := &unstructured.Unstructured{}
			example.SetAPIVersion("example.com/v1")
			example.SetKind("Thing")
			informer := cache.NewSharedIndexInformer(Source(&cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return things.List(ctx, o) },
				WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					return things.Watch(ctx, o)
				},
			}, Options{Fact: book.NewFact("things", MinStaleness, time.Now()), Staleness: MinStaleness, Clock: clock.RealClock{}, Log: logr.Discard()}), example, 0, nil)
			changed := make(chan string, 16)
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(o any) { changed <- "+" + o.(*unstructured.Unstructured).GetName() },
				DeleteFunc: func(o any) { changed <- "-" + o.(*unstructured.Unstructured).GetName() },
			}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				informer.RunWithContext(ctx)
			}()
			defer func() {
				cancel()
				<-done
			}()
			want := func(events ...string) {
				t.Helper()
				var got []string
				for range events {
					select {
					case event := <-changed:
						got = append(got, event)
					case <-time.After(20 * time.Second):
						t.Fatalf("came is %v, want %v", got, events)
					}
				}
				if strings.Join(got, " ") != strings.Join(events, " ") {
					t.Fatalf("came is %v, want %v", got, events)
				}
			}
			want("+a", "+b")
			s.mu.Lock()
			s.names, s.version = []string{"b", "c"}, "20"
			s.mu.Unlock()
			want("+c", "-a")
			if missing := book.Missing(time.Now()); missing != nil {
				t.Error(missing.Facts[0].Detail())
			}
		})
	}
}
