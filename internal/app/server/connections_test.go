package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// dialed counts the connections that a client begins.
func dialed(client *http.Client) *atomic.Int32 {
	var n atomic.Int32
	var dialer net.Dialer
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		n.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	return &n
}

// moving is a clock that stands still until it is moved.
type moving struct{ at atomic.Int64 }

func (m *moving) now() time.Time          { return time.Unix(0, m.at.Load()) }
func (m *moving) forward(d time.Duration) { m.at.Add(int64(d)) }

// TestConnectionsEndWithAnAnswer has the first answer after a connection's age end it,
// and none before, give or take a tenth.
func TestConnectionsEndWithAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		random float64
		maxAge time.Duration
		// lasts is how old the connection gets; zero for any age.
		lasts time.Duration
	}{
		"a tenth less": {0, 100 * time.Second, 90 * time.Second},
		"as long":      {0.5, 100 * time.Second, 100 * time.Second},
		"a tenth more": {1, 100 * time.Second, 110 * time.Second},
		"never":        {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, &world{}, noExec)
			clock := &moving{}
			clock.at.Store(time.Now().UnixNano())
			o.Now, o.Random, o.ConnectionMaxAge, o.InsecureHTTP = clock.now, func() float64 { return c.random }, c.maxAge, true
			_, client, url := running(t, o)
			connections := dialed(client)
			for _, step := range []struct {
				after       time.Duration
				connections int32
			}{{0, 1}, {c.lasts - 1, 1}, {1, 1}, {0, 2}} {
				if c.lasts > 0 || step.after == 0 {
					clock.forward(step.after)
				} else {
					clock.forward(24 * time.Hour)
					step.connections = 1
				}
				if code, body := post(t, client, url+"/authorize", sar); code != http.StatusOK {
					t.Errorf("status %d: %s", code, body)
				}
				if got := connections.Load(); got != step.connections && c.lasts > 0 || got != 1 && c.lasts == 0 {
					t.Errorf("%d connections, want %d", got, step.connections)
				}
			}
		})
	}
}

// TestNoRequestFailsAsConnectionsEnd has many clients ask all the time while their
// connections end after a moment each: every one of them is answered.
func TestNoRequestFailsAsConnectionsEnd(t *testing.T) {
	const clients, each = 16, 60
	o := options(t, &world{}, noExec)
	o.ConnectionMaxAge = 3 * time.Millisecond
	_, client, url := running(t, o)
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	connections := dialed(client)
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for range each {
				resp, err := client.Post(url+"/authorize", "application/json", strings.NewReader(sar))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("status %d, %v: %s", resp.StatusCode, err, body)
				}
			}
		})
	}
	asking.Wait()
	if n := connections.Load(); n < 2*clients {
		t.Errorf("%d connections were begun by %d clients", n, clients)
	}
}

// TestBodiesOfLastAnswersAreRead though what answers does not want them: an answer is lost
// where a connection is closed with something to be read.
func TestBodiesOfLastAnswersAreRead(t *testing.T) {
	c := newConnections(&Options{})
	for last, left := range map[bool]int{false: 1000, true: 0} {
		c.last.Store(last)
		body, recorder := strings.NewReader(strings.Repeat("x", 1000)), httptest.NewRecorder()
		c.serve(http.NotFoundHandler()).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/other", body))
		if body.Len() != left || (recorder.Header().Get("Connection") == "close") != last {
			t.Errorf("last %v: %d bytes are left, want %d; %v", last, body.Len(), left, recorder.Header())
		}
	}
}

// TestConnectionsAreCounted by the door that they lead to.
func TestConnectionsAreCounted(t *testing.T) {
	o := options(t, &world{}, noExec)
	s, watcher, url := running(t, o)
	counted := func(admission, access, none string) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			got := [3]string{}
			for i, door := range []string{"admission", "access", "none"} {
				got[i] = metric(t, watcher, url, `sallyport_connections{door="`+door+`"}`)
			}
			if got == [3]string{admission, access, none} {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("counted %q, want %q", got, [3]string{admission, access, none})
			}
		}
	}
	// The one that asks is counted as well.
	counted("0", "0", "1")
	client := &http.Client{Transport: watcher.Transport.(*http.Transport).Clone()}
	for range 2 {
		post(t, client, url+"/authorize", sar)
	}
	counted("0", "1", "1")
	post(t, client, url+"/validate", execReview)
	counted("1", "0", "1")
	client.CloseIdleConnections()
	counted("0", "0", "1")
	if n := len(s.connections.open); n != 1 {
		t.Errorf("%d are known", n)
	}
}

// TestLeaving has readyz say that the replica is ending, while reviews are answered, and
// health stays. Connections end by answers once they are to, and not before they are used.
func TestLeaving(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.Ready = func() []string { return nil }
	s, client, url := running(t, o)
	connections := dialed(client)
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	answers := func() {
		t.Helper()
		if code, body := post(t, client, url+"/authorize", sar); code != http.StatusOK {
			t.Errorf("status %d: %s", code, body)
		}
		if code, _ := get("/healthz"); code != http.StatusOK {
			t.Errorf("/healthz: status %d", code)
		}
	}
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: status %d", code)
	}
	s.Leave()
	if code, body := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "missing: "+leavingReason+"\n") {
		t.Errorf("/readyz: status %d: %s", code, body)
	}
	answers()
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections before they are to end", n)
	}
	s.Release()
	answers()
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections, want 2: the idle one for one answer, and one for the next", n)
	}
}

// TestSettling waits for what runs, and not for what comes later.
func TestSettling(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	o := options(t, &world{pod: func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}}, noExec)
	s, client, url := running(t, o)
	if !s.Settle(t.Context()) {
		t.Error("waits where nothing was asked yet")
	}
	var asking sync.WaitGroup
	ask := func() {
		asking.Go(func() {
			if resp, err := client.Post(url+"/authorize", "application/json", strings.NewReader(sar)); err != nil {
				t.Error(err)
			} else {
				resp.Body.Close()
			}
		})
		<-entered
	}
	ask()
	ended, end := context.WithCancel(t.Context())
	end()
	if s.Settle(ended) {
		t.Error("does not wait for what runs")
	}
	// What was waited for in vain runs still, and is not waited for again.
	ask()
	settled := make(chan bool, 1)
	go func() { settled <- s.Settle(t.Context()) }()
	release <- struct{}{}
	release <- struct{}{}
	if !<-settled {
		t.Error("what ran has ended, and that was not seen")
	}
	asking.Wait()
}

// TestHealthAsksNothing is healthy whatever is missing: who is started again for what he
// does not know knows it no sooner.
func TestHealthAsksNothing(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.Known = known.NewBook(time.Now())
	o.Known.NewFact("policies", time.Minute, time.Now())
	o.Ready = func() []string {
		t.Error("asked what is missing")
		return nil
	}
	_, client, url := running(t, o)
	resp, err := client.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if code, body := read(t, resp); code != http.StatusOK || body != "ok\n" {
		t.Errorf("status %d: %s", code, body)
	}
}
