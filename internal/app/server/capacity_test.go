package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sized is a request that promises a body of that many bytes.
func sized(length int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/validate", nil)
	r.ContentLength = length
	return r
}

// TestLimitOfConcurrency holds the bound of requests that are judged at once: one more
// finds no place, and finds one when another leaves.
func TestLimitOfConcurrency(t *testing.T) {
	c := newCapacity(3, largeMemory)
	var leave []func()
	for range 3 {
		l, err := c.enter(sized(10), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if _, err := c.enter(sized(10), time.Hour); err == nil || !strings.Contains(err.Error(), "3 requests are being judged") {
		t.Errorf("a fourth request of three: %v", err)
	}
	leave[0]()
	l, err := c.enter(sized(10), time.Hour)
	if err != nil {
		t.Errorf("a place that was left cannot be taken: %v", err)
	}
	for _, l := range append(leave[1:], l) {
		l()
	}
	if len(c.places) != 0 {
		t.Errorf("%d places were not given back", len(c.places))
	}
}

// TestLargeRequestsLeaveRoom says that large requests, however many, keep no small one
// out.
func TestLargeRequestsLeaveRoom(t *testing.T) {
	c := newCapacity(8, largeMemory)
	var leave []func()
	for range 2 {
		l, err := c.enter(sized(commonBody+1), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if _, err := c.enter(sized(commonBody+1), time.Hour); err == nil || !strings.Contains(err.Error(), "2 large requests") {
		t.Errorf("a third large request: %v", err)
	}
	// One that is not read whole takes no room of the large ones.
	for _, length := range []int64{0, 1, commonBody, maxBody + 1, drainLimit, drainLimit + 1} {
		l, err := c.enter(sized(length), time.Hour)
		if err != nil {
			t.Fatalf("a request of %d bytes finds no place: %v", length, err)
		}
		leave = append(leave, l)
	}
	if _, err := c.enter(sized(maxBody+1), time.Hour); err == nil {
		t.Error("one that is not read whole needs no place")
	}
	for _, l := range leave {
		l()
	}
	if len(c.places) != 0 || len(c.large) != 0 || !c.memory.TryAcquire(largeMemory) {
		t.Errorf("%d and %d places, or memory, were not given back", len(c.places), len(c.large))
	}
}

// TestMemoryOfLargeRequests says that a large request waits for memory, and for no
// longer than it can.
func TestMemoryOfLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCapacity(1000, largeMemory)
		var leave []func()
		for held := int64(0); held+maxBody <= largeMemory; held += maxBody {
			// Of a length that is not told, the largest is expected.
			l, err := c.enter(sized(-1), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, l)
		}
		started := time.Now()
		if _, err := c.enter(sized(maxBody), time.Second); err == nil || time.Since(started) != time.Second {
			t.Errorf("%v after %s", err, time.Since(started))
		}
		go func() {
			time.Sleep(time.Second)
			leave[0]()
		}()
		started = time.Now()
		l, err := c.enter(sized(maxBody), time.Minute)
		if err != nil || time.Since(started) != time.Second {
			t.Fatalf("%v after %s", err, time.Since(started))
		}
		for _, l := range append(leave[1:], l) {
			l()
		}
		if len(c.places) != 0 || len(c.large) != 0 || !c.memory.TryAcquire(largeMemory) {
			t.Error("places or memory were not given back")
		}
	})
}

// TestOverload fills every place. The next request is refused at once, in a review, as
// a requester could have brought it about; those that wait are answered.
func TestOverload(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	w := &world{pod: func(ctx context.Context) error {
		select {
		case entered <- struct{}{}:
			<-release
		case <-ctx.Done():
		}
		return nil
	}}
	o := options(t, w, noExec)
	o.MaxConcurrent = 2
	_, client, url := running(t, o)
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	var waiting sync.WaitGroup
	for range o.MaxConcurrent {
		waiting.Go(func() {
			if code, body := post(t, client, url+"/authorize", sar); code != http.StatusOK {
				t.Errorf("status %d: %s", code, body)
			}
		})
		<-entered
	}
	padded := strings.Replace(execReview, `"container":"app"`, `"container":"app","command":["`+strings.Repeat("x", 3<<20)+`"]`, 1)
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             []string
	}{
		{"side door", "/authorize", sar, http.StatusOK, []string{`"denied":true`, "2 requests are being judged"}},
		{"front door", "/validate", execReview, http.StatusOK, []string{`"uid":"u2","allowed":false`, `"code":429`, `"reason":"TooManyRequests","details":{"retryAfterSeconds":1}`, "2 requests are being judged", "exec"}},
		{"front door, a large one", "/validate", padded, http.StatusOK, []string{`"uid":"u2","allowed":false`, `"code":429`}},
		{"for changes", "/mutate", execReview, http.StatusOK, []string{`"uid":"u2","allowed":false`}},
		{"for one policy", "/policy/x/validate", execReview, http.StatusOK, []string{`"uid":"u2","allowed":false`}},
		{"no review", "/validate", "{}", http.StatusTooManyRequests, nil},
		{"no review at the side door", "/authorize", execReview, http.StatusTooManyRequests, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := post(t, client, url+tt.path, tt.body)
			if code != tt.status {
				t.Fatalf("status %d: %s", code, body)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("%s does not hold %s", body, want)
				}
			}
		})
	}
	// What is not JSON was sent by no API server.
	resp, err := client.Post(url+"/validate", "text/plain", strings.NewReader(execReview))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := read(t, resp); code != http.StatusUnsupportedMediaType {
		t.Errorf("status %d: %s", code, body)
	}
	letGo()
	waiting.Wait()
	if n := metric(t, client, url, `sallyport_overloaded_total{door="access"}`); n != "2" {
		t.Errorf("%q requests found no place", n)
	}
	if n := metric(t, client, url, `sallyport_overloaded_total{door="admission"}`); n != "5" {
		t.Errorf("%q requests found no place", n)
	}
}

// TestTooLarge says that a review beyond every bound is refused in a review, whether
// its length is told or not, and although nothing of it was kept.
func TestTooLarge(t *testing.T) {
	_, client, url := running(t, options(t, &world{}, noExec))
	padding := bytes.Repeat([]byte(" "), maxBody)
	send := func(path, review string, told bool) (int, string) {
		var body io.Reader = io.MultiReader(strings.NewReader(review[:len(review)-1]), bytes.NewReader(padding), strings.NewReader("}"))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if told {
			request.ContentLength = int64(len(review) + len(padding))
		}
		request.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	for _, told := range []bool{true, false} {
		for _, path := range []string{"/validate", "/mutate", "/policy/x/validate"} {
			code, body := send(path, execReview, told)
			if code != http.StatusOK || !strings.Contains(body, `"uid":"u2","allowed":false`) || !strings.Contains(body, `"code":413`) || !strings.Contains(body, "the body is over") {
				t.Errorf("%s: status %d: %s", path, code, body)
			}
		}
		if code, body := send("/authorize", sar, told); code != http.StatusOK || !strings.Contains(body, `"denied":true`) || !strings.Contains(body, "the body is over") {
			t.Errorf("status %d: %s", code, body)
		}
		if code, body := send("/validate", "{}", told); code != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d: %s", code, body)
		}
	}
}

// TestUnjudged sends what a requester can have an API server send, and what he cannot.
func TestUnjudged(t *testing.T) {
	_, client, url := running(t, options(t, &world{}, noExec))
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	change := func(from, to string) string {
		changed := strings.Replace(execReview, from, to, 1)
		if changed == execReview {
			t.Fatalf("%s is not in the review", from)
		}
		return changed
	}
	refused := []string{`"uid":"u2","allowed":false`, `"code":403`}
	for _, tt := range []struct {
		name, body string
		status     int
		want       []string
	}{
		{"a CONNECT that names nothing", change(`"name":"web",`, ""), http.StatusOK, append(refused, "request.name is missing")},
		{"an unknown subresource", change(`"subResource":"exec"`, `"subResource":"shell"`), http.StatusOK, append(refused, "pods/shell")},
		{"an unknown operation", change("CONNECT", "ENTER"), http.StatusOK, append(refused, "ENTER")},
		{"a name that stands twice", change(`"container":"app"`, `"container":"app","container":"b"`), http.StatusOK, append(refused, "more than once")},
		{"a name that stands twice in options", change(`"object":`, `"options":{"a":1,"a":2},"object":`), http.StatusOK, append(refused, "more than once")},
		{"text that is not UTF-8, which is judged", change(`"container":"app"`, "\"container\":\"a\xff\""), http.StatusOK, []string{`"uid":"u2"`}},
		{"half a character, which is judged", change(`"container":"app"`, `"container":"\ud800"`), http.StatusOK, []string{`"uid":"u2"`}},
		{"too deep", change(`"container":"app"`, `"container":"app","x":`+deep), http.StatusOK, append(refused, "depth")},
		{"too deep in what is skipped", change(`"object":`, `"oldObject":`+deep+`,"object":`), http.StatusOK, append(refused, "depth")},
		{"wrong content", change(`"container":"app"`, `"container":{"a":1}`), http.StatusOK, refused},
		{"another content than is told", change(`"apiVersion":"v1","kind":"PodExecOptions"`, `"apiVersion":"v1","kind":"Pod"`), http.StatusOK, refused},
		{"no object", change(`"container":"app"}`, `"container":"app"},"object":null`), http.StatusOK, refused},

		{"nothing", "", http.StatusBadRequest, nil},
		{"cut off", execReview[:len(execReview)-2], http.StatusBadRequest, nil},
		{"something after it", execReview + "{}", http.StatusBadRequest, nil},
		{"two uids", change(`"uid":"u2"`, `"uid":"u2","uid":"u3"`), http.StatusBadRequest, nil},
		{"no uid", change(`"uid":"u2",`, ""), http.StatusBadRequest, nil},
		{"an endless uid", change(`"uid":"u2"`, `"uid":"`+strings.Repeat("u", 1000)+`","operation":"ENTER"`), http.StatusBadRequest, nil},
		{"another version", change("admission.k8s.io/v1", "admission.k8s.io/v1beta1"), http.StatusBadRequest, nil},
	} {
		for _, path := range []string{"/validate", "/mutate", "/policy/x/validate"} {
			t.Run(tt.name+path, func(t *testing.T) {
				code, body := post(t, client, url+path, tt.body)
				if code != tt.status {
					t.Fatalf("status %d: %s", code, body)
				}
				for _, want := range tt.want {
					if !strings.Contains(body, want) {
						t.Errorf("%s does not hold %s", body, want)
					}
				}
			})
		}
	}
}

// TestSubjectAccessReviewsThatAreNone are answered with an HTTP status: an API server
// writes all of one itself, so that no requester brings this about.
func TestSubjectAccessReviewsThatAreNone(t *testing.T) {
	_, client, url := running(t, options(t, &world{}, noExec))
	for name, body := range map[string]string{
		"a user that is none": strings.Replace(sar, `"user":"alice"`, `"user":1`, 1), "cut off": sar[:len(sar)-1], "nothing": "", "two of them": sar + sar,
	} {
		if code, answer := post(t, client, url+"/authorize", body); code != http.StatusBadRequest || strings.Contains(answer, "denied") {
			t.Errorf("%s: status %d: %s", name, code, answer)
		}
	}
}
