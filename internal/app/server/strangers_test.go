package server

import (
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// byNetwork are options of a server that answers those who show nothing.
func byNetwork(t testing.TB, policies ...string) Options {
	t.Helper()
	o := options(t, &world{}, policies...)
	o.Callers = CallersNetwork
	return o
}

// ask sends a body with these headers.
func ask(t *testing.T, client *http.Client, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

// TestCallersByTheNetwork: whoever shows nothing is answered at the front door, about the
// server's own cluster, and nowhere else, also where nothing is configured by which anybody
// could be known; whoever shows what is not good is not answered.
func TestCallersByTheNetwork(t *testing.T) {
	none := func(*Options) {}
	tokens := func(o *Options) { o.TokenFile = file(t, "tokens", "good\n") }
	from := func(networks ...string) func(*Options) {
		return func(o *Options) { o.CallerNetworks = networks }
	}
	authenticated := func(o *Options) { o.Callers = "" }
	const exec = execReview
	for _, c := range []struct {
		name   string
		change func(*Options)
		path   string
		header []string
		want   int
	}{
		{"the front door", none, "/validate", nil, 200},
		{"the front door, changing", none, "/mutate", nil, 200},
		{"one policy", none, "/policy/p/validate", nil, 200},
		{"where there are tokens", tokens, "/validate", nil, 200},
		{"the side door", none, "/authorize", nil, 401},
		{"the side door, by a name", none, "/authorize/a", nil, 401},
		{"the side door, with /ignore", none, "/ignore/authorize", nil, 401},
		{"the side door, where there are tokens", tokens, "/authorize", nil, 401},
		{"the side door, with a token", tokens, "/authorize", []string{"Authorization", "Bearer good"}, 200},
		{"a wrong token", tokens, "/validate", []string{"Authorization", "Bearer bad"}, 401},
		{"a token where there are none", none, "/validate", []string{"Authorization", "Bearer good"}, 401},
		{"a good token", tokens, "/validate", []string{"Authorization", "Bearer good"}, 200},
		{"metrics", none, "/metrics", nil, 401},
		{"metrics, with a token", tokens, "/metrics", []string{"Authorization", "Bearer good"}, 200},
		{"from a network", from("10.0.0.0/8", "127.0.0.0/8"), "/validate", nil, 200},
		{"from another", from("10.0.0.0/8", "::1/128"), "/validate", nil, 401},
		{"from another, said to be from it", from("10.0.0.0/8"), "/validate", []string{"X-Forwarded-For", "10.0.0.1", "X-Real-Ip", "10.0.0.1", "Forwarded", "for=10.0.0.1"}, 401},
		{"not said, on loopback", authenticated, "/authorize", nil, 200},
		{"not said, metrics on loopback", authenticated, "/metrics", nil, 200},
		{"not said, with tokens", func(o *Options) { authenticated(o); tokens(o) }, "/validate", nil, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := byNetwork(t, noExec)
			c.change(&o)
			_, client, url := running(t, o)
			method, body := http.MethodPost, exec
			switch {
			case strings.HasPrefix(c.path, "/metrics"):
				method, body = http.MethodGet, ""
			case strings.Contains(c.path, "authorize"):
				body = sar
			}
			if status, answer := ask(t, client, method, url+c.path, body, c.header...); status != c.want {
				t.Errorf("status %d, want %d: %s", status, c.want, answer)
			}
		})
	}
	_, client, url := running(t, byNetwork(t, noExec))
	for path, want := range map[string]string{"/validate/b": "may not ask for cluster", "/validate/unknown": "may not ask for cluster"} {
		if _, answer := post(t, client, url+path, execReview); !strings.Contains(answer, want) || !strings.Contains(answer, `"allowed":false`) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	if _, answer := ask(t, client, http.MethodGet, url+"/readyz", ""); strings.Contains(answer, "policies") {
		t.Errorf("details are shown: %s", answer)
	}
}

// TestCallersOptions refuses what would leave a door open, or would do nothing.
func TestCallersOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"another way":           {func(o *Options) { o.Callers = "anybody" }, "authenticated or network is expected"},
		"networks for nobody":   {func(o *Options) { o.Callers, o.CallerNetworks = "", []string{"10.0.0.0/8"} }, "leave them out"},
		"a rate for nobody":     {func(o *Options) { o.Callers, o.CallerRate = "", 7 }, "leave them out"},
		"not a network":         {func(o *Options) { o.CallerNetworks = []string{"10.0.0.1"} }, `--caller-networks is "10.0.0.1"`},
		"an address within one": {func(o *Options) { o.CallerNetworks = []string{"10.0.0.1/8"} }, "write 10.0.0.0/8 for the network, or 10.0.0.1/32 for the address"},
		"IPv4 in IPv6":          {func(o *Options) { o.CallerNetworks = []string{"::ffff:10.0.0.0/104"} }, "write a network of IPv4 as such"},
		"no rate":               {func(o *Options) { o.CallerRate = -1 }, "--caller-rate is -1"},
		"too high a rate":       {func(o *Options) { o.CallerRate = 1 << 30 }, "--caller-rate is"},
		"an open address":       {func(o *Options) { o.Callers, o.Addr = "", ":0" }, "or --callers network where API servers show nothing"},
	} {
		o := byNetwork(t)
		c.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := byNetwork(t)
	o.Addr = ":0"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestStrangersAreBounded: each address by itself, all of them together, and how many are told
// apart; what is beyond is refused in a review, and takes nothing from those who are known.
func TestStrangersAreBounded(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	o := byNetwork(t)
	o.CallerRate, o.Now = 10, func() time.Time { return now }
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	s, err := newStrangers(&o)
	if err != nil {
		t.Fatal(err)
	}
	let := func(addr string, times int) (n int, last string) {
		for range times {
			left, why, err := s.count(netip.MustParseAddr(addr))
			if err != nil {
				last = why
				continue
			}
			n++
			left()
		}
		return n, last
	}
	if n, why := let("10.0.0.1", 100); n != callerBurst*10 || why != record.BeyondAddress {
		t.Errorf("%d of one address, then %s", n, why)
	}
	if n, _ := let("10.0.0.2", 1); n != 1 {
		t.Error("another address waits for the first")
	}
	if n, _ := let("fd00::1", 100); n != callerBurst*10 {
		t.Errorf("%d of one address", n)
	}
	if n, _ := let("fd00::2", 1); n != 0 {
		t.Error("a host of IPv6 has more than one")
	}
	if n, why := let("10.0.0.3", 100); n != callerBurst*10 {
		t.Errorf("%d, then %s", n, why)
	}
	if n, _ := let("10.0.0.4", 100); n != callerBurst*10-1 {
		t.Errorf("%d of all that is left", n)
	}
	if n, why := let("10.0.0.5", 1); n != 0 || why != record.BeyondAll {
		t.Errorf("%d, %s, where nothing is left", n, why)
	}
	now = now.Add(time.Second)
	if n, _ := let("10.0.0.1", 100); n != 10 {
		t.Errorf("%d a second later", n)
	}
	for i := range callersKept + 10 {
		s.find(netip.AddrFrom4([4]byte{11, 0, byte(i >> 8), byte(i)}))
	}
	if len(s.byAddr) != callersKept || s.order.Len() != callersKept {
		t.Errorf("%d addresses are kept", len(s.byAddr))
	}
	now = now.Add(time.Hour)
	var lefts []func()
	for range s.most {
		now = now.Add(time.Second)
		left, why, err := s.count(netip.MustParseAddr("10.0.0.9"))
		if err != nil {
			t.Fatalf("%d are under way: %s %v", len(lefts), why, err)
		}
		lefts = append(lefts, left)
	}
	if _, why, err := s.count(netip.MustParseAddr("10.0.0.9")); err == nil || why != record.BeyondAddress {
		t.Errorf("more than its part is under way: %s", why)
	}
	lefts[0]()
	if _, _, err := s.count(netip.MustParseAddr("10.0.0.9")); err != nil {
		t.Error(err)
	}
	if cap(s.room.places) >= o.MaxConcurrent || s.room.limit >= largeMemory {
		t.Error("they have as much room as all others")
	}
}

// TestStrangersBeyondTheirBound are refused in words that a client tries again upon, while
// those who are known are answered.
func TestStrangersBeyondTheirBound(t *testing.T) {
	o := byNetwork(t, noExec)
	now := time.Now()
	o.TokenFile, o.CallerRate, o.Now = file(t, "tokens", "good\n"), 1, func() time.Time { return now }
	_, client, url := running(t, o)
	for range callerBurst {
		if _, answer := post(t, client, url+"/validate", execReview); !strings.Contains(answer, `"allowed":true`) {
			t.Fatal(answer)
		}
	}
	status, answer := post(t, client, url+"/validate", execReview)
	if status != http.StatusOK || !strings.Contains(answer, `"allowed":false`) || !strings.Contains(answer, `"code":429`) || !strings.Contains(answer, "serve --caller-rate") {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := ask(t, client, http.MethodPost, url+"/validate", execReview, "Authorization", "Bearer good"); status != http.StatusOK || !strings.Contains(answer, `"allowed":true`) {
		t.Errorf("one who is known: %d %s", status, answer)
	}
	_, metrics := ask(t, client, http.MethodGet, url+"/metrics", "", "Authorization", "Bearer good")
	for _, want := range []string{
		`sallyport_unauthenticated_unjudged_total{why="address"} 1`, `sallyport_unauthenticated_reviews_total{decision="allow"} 2`,
		`sallyport_unauthenticated_reviews_total{decision="deny"} 1`, `sallyport_requests_total{decision="allow",door="admission",operation="CONNECT"} 1`,
		`sallyport_connections{door="access"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("%s is not there", want)
		}
	}
	for _, unwanted := range []string{"sallyport_overloaded_total{", `{decision="deny",door=`} {
		if strings.Contains(metrics, unwanted) {
			t.Errorf("%s is there", unwanted)
		}
	}
}

// TestWhatIsMadeUpIsMarked: every request of a caller without credentials says so, whatever
// becomes of it, and no other does; nothing of it is counted or recorded as if it were known
// who asks.
func TestWhatIsMadeUpIsMarked(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"judged": func(*Options) {},
		"not known": func(o *Options) {
			o.Known = known.NewBook(time.Now())
			o.Known.NewFact("denypolicies.sallyport.io", 0, time.Now())
		},
		"no cluster":      func(o *Options) { o.Cluster = func(string) (State, error) { return State{}, errors.New("gone") } },
		"observing":       func(o *Options) { o.Observe = true },
		"of a bad policy": func(o *Options) {},
	} {
		path := filepath.Join(t.TempDir(), "audit")
		audit, err := record.OpenAuditLog(path)
		if err != nil {
			t.Fatal(err)
		}
		o := byNetwork(t, noExec)
		o.Recorder = record.New(record.Options{Audit: audit})
		change(&o)
		_, client, url := running(t, o)
		at := "/validate"
		if name == "of a bad policy" {
			at = "/policy/unknown/validate"
		}
		post(t, client, url+at, execReview)
		post(t, client, url+"/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","uid":"u"`)
		audit.Close()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if !strings.Contains(line, `"unauthenticated":true`) {
				t.Errorf("%s: %s", name, line)
			}
		}
		families, err := o.Recorder.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			switch family.GetName() {
			case "sallyport_requests_total", "sallyport_request_duration_seconds", "sallyport_not_known_total", "sallyport_overloaded_total":
				t.Errorf("%s: %s is counted", name, family.GetName())
			}
		}
	}
}

// TestDoorOf keeps connections of callers without credentials apart.
func TestDoorOf(t *testing.T) {
	if got := doorOf(request.Admission, &caller{unauthenticated: true}); got != byStrangers {
		t.Error(got)
	}
	if got := doorOf(request.Admission, &caller{}); got != request.Admission {
		t.Error(got)
	}
}
