package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var began = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// told is a target that keeps what it is told.
type told struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	// answers are the status of each answer; 200 after the last.
	answers []int
	arrived chan struct{}
	// hold, where it is set, keeps answers back until it is closed.
	hold chan struct{}
}

func newTold(t *testing.T, answers ...int) *told {
	target := &told{answers: answers, arrived: make(chan struct{}, 100)}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		target.mu.Lock()
		n := len(target.requests)
		target.requests, target.bodies = append(target.requests, r), append(target.bodies, string(body))
		hold := target.hold
		target.mu.Unlock()
		target.arrived <- struct{}{}
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		status := http.StatusOK
		if n < len(target.answers) {
			status = target.answers[n]
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(target.Close)
	return target
}

func (t *told) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-t.arrived:
	case <-time.After(30 * time.Second):
		tb.Fatal("nothing arrived")
	}
}

func (t *told) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.bodies...)
}

func event(id string) Event {
	until := began.Add(time.Hour)
	return Event{
		ID: id, Type: Approved, Time: began, Session: "s1", Escalation: "emergency", Cluster: "prod", User: "ann", Group: "admins",
		Actor: "bob", Reason: "incident", State: "Approved", ExpiresAt: &until,
	}
}

// start runs a sender to the targets until the test ends.
func start(t *testing.T, o Options) *Sender {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Log, o.Jitter = logr.Discard(), func() float64 { return 1 }
	for _, target := range o.Targets {
		if wrong := target.compile(map[string]bool{}); wrong != nil {
			t.Fatal(errors.Join(wrong...))
		}
	}
	s := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func (s *Sender) count(outcome string) float64 {
	return testutil.ToFloat64(s.sent.WithLabelValues("ops", outcome))
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-limit.Done():
			t.Fatalf("still not: %s", what)
		case <-ticker.C:
		}
	}
}

func TestFormats(t *testing.T) {
	tests := []struct {
		format    Format
		mediaType string
		want      string
	}{
		{"", "application/json; charset=UTF-8", `{"id":"1","type":"approved","time":"2026-11-28T12:00:00Z","session":"s1","escalation":"emergency","cluster":"prod","user":"ann","group":"admins","actor":"bob","reason":"incident","state":"Approved","expiresAt":"2026-11-28T13:00:00Z"}`},
		{CloudEvents, "application/cloudevents+json; charset=UTF-8", `{"specversion":"1.0","id":"1","source":"/sallyport/hub","type":"io.sallyport.breakglass.session.approved","subject":"s1","time":"2026-11-28T12:00:00Z","datacontenttype":"application/json","data":{"id":"1","type":"approved","time":"2026-11-28T12:00:00Z","session":"s1","escalation":"emergency","cluster":"prod","user":"ann","group":"admins","actor":"bob","reason":"incident","state":"Approved","expiresAt":"2026-11-28T13:00:00Z"}}`},
		{Slack, "application/json; charset=UTF-8", `{"text":"bob approved emergency in cluster prod for ann, until 2026-11-28T13:00:00Z: incident"}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			target := newTold(t)
			s := start(t, Options{Source: "/sallyport/hub", Targets: []*Target{{Name: "ops", URL: target.URL, Format: tt.format}}})
			s.Notify(event("1"))
			target.wait(t)
			var got, want any
			if err := errors.Join(json.Unmarshal([]byte(target.all()[0]), &got), json.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			header := target.requests[0].Header
			if header.Get("Content-Type") != tt.mediaType || header.Get("Idempotency-Key") != "1" || header.Get(SignatureHeader) != "" {
				t.Errorf("headers %v", header)
			}
		})
	}
}

func TestSentences(t *testing.T) {
	tests := map[Type]string{
		Asked:     "ann asks for emergency in cluster prod: incident (to answer: sallyport approve session s1, or sallyport deny session s1)",
		Approved:  "bob approved emergency in cluster prod for ann, until 2026-11-28T13:00:00Z: incident",
		Denied:    "bob denied emergency in cluster prod to ann: incident",
		Withdrawn: "ann withdrew the request for emergency in cluster prod: incident",
		Expiring:  "the access of ann by emergency in cluster prod ends soon, until 2026-11-28T13:00:00Z: incident",
		Ended:     "the access of ann by emergency in cluster prod has ended: incident",
	}
	for _, kind := range Types {
		e := event("1")
		e.Type = kind
		if got := e.Sentence(); got != tests[kind] {
			t.Errorf("%s: %q, want %q", kind, got, tests[kind])
		}
	}
}

// TestSlackMarkup holds that nobody's reason calls a channel or dresses up a link.
func TestSlackMarkup(t *testing.T) {
	e := event("1")
	e.Reason = "<!channel> <https://evil.example|Approve> & \n\x00" + strings.Repeat("x", 3000)
	body, _, err := Slack.write(&e, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	var message struct{ Text string }
	if err := json.Unmarshal(body, &message); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(message.Text, "<>\n\x00") || len(message.Text) > longestText+200 || !strings.HasSuffix(message.Text, "...") {
		t.Errorf("the message is %q", message.Text)
	}
}

func TestSignature(t *testing.T) {
	secret := []byte("0123456789abcdef")
	target := newTold(t)
	clock := clocktesting.NewFakeClock(began)
	tt := &Target{Name: "ops", URL: target.URL, secret: secret}
	s := start(t, Options{Clock: clock, Targets: []*Target{tt}})
	s.Notify(event("1"))
	target.wait(t)
	header, body := target.requests[0].Header.Get(SignatureHeader), []byte(target.all()[0])
	tests := []struct {
		name   string
		secret string
		body   string
		header string
		now    time.Time
		want   string
	}{
		{"as it was sent", string(secret), string(body), header, began.Add(time.Minute), ""},
		{"another secret", "0123456789abcdeg", string(body), header, began, "does not belong"},
		{"another body", string(secret), string(body) + " ", header, began, "does not belong"},
		{"another time", string(secret), string(body), strings.Replace(header, "t=1", "t=2", 1), began, "does not belong"},
		{"an old one", string(secret), string(body), header, began.Add(time.Hour), "was signed 1h0m0s ago"},
		{"one from the future", string(secret), string(body), header, began.Add(-time.Hour), "was signed -1h0m0s ago"},
		{"none", string(secret), string(body), "", began, "is not t=SECONDS,v1=HEX"},
		{"half of one", string(secret), string(body), "t=1", began, "is not t=SECONDS,v1=HEX"},
		{"a time that is none", string(secret), string(body), "t=x,v1=00", began, "is not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Verify([]byte(tt.secret), []byte(tt.body), tt.header, tt.now, 5*time.Minute)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	target := newTold(t, 503, 429, 500)
	clock := clocktesting.NewFakeClock(began)
	s := start(t, Options{Clock: clock, Targets: []*Target{{Name: "ops", URL: target.URL}}})
	s.Notify(event("1"))
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		target.wait(t)
		eventually(t, "it waits", clock.HasWaiters)
		clock.Step(wait - time.Millisecond)
		if !clock.HasWaiters() {
			t.Fatalf("it did not wait for %s", wait)
		}
		clock.Step(time.Millisecond)
	}
	target.wait(t)
	eventually(t, "it is sent", func() bool { return s.count("sent") == 1 })
	if got := s.count("retried"); got != 3 {
		t.Errorf("%v retries, want 3", got)
	}
	for _, body := range target.all() {
		if body != target.all()[0] {
			t.Errorf("a repetition says something else: %s", body)
		}
	}
}

func TestGivesUp(t *testing.T) {
	for name, status := range map[string]int{"at once": 404, "a redirect": 302} {
		t.Run(name, func(t *testing.T) {
			target := newTold(t, status)
			s := start(t, Options{Targets: []*Target{{Name: "ops", URL: target.URL}}})
			s.Notify(event("1"))
			eventually(t, "it is given up", func() bool { return s.count("failed") == 1 })
			s.Notify(event("2"))
			eventually(t, "the next is sent", func() bool { return s.count("sent") == 1 })
			if last := target.all()[1]; !strings.Contains(last, `"dropped":1`) {
				t.Errorf("the next message says nothing of the one that was lost: %s", last)
			}
		})
	}
	t.Run("after its time", func(t *testing.T) {
		target := newTold(t, 500, 500, 500, 500)
		clock := clocktesting.NewFakeClock(began)
		s := start(t, Options{Clock: clock, GiveUp: 3 * time.Second, Targets: []*Target{{Name: "ops", URL: target.URL}}})
		s.Notify(event("1"))
		for range 2 {
			target.wait(t)
			eventually(t, "it waits", clock.HasWaiters)
			clock.Step(2 * time.Second)
		}
		eventually(t, "it is given up", func() bool { return s.count("failed") == 1 })
	})
}

// TestFullQueue holds that nobody waits for a target, and that it is told what it
// was not told.
func TestFullQueue(t *testing.T) {
	slow, quick := newTold(t), newTold(t)
	slow.hold = make(chan struct{})
	s := start(t, Options{Queue: 2, Targets: []*Target{{Name: "ops", URL: slow.URL}, {Name: "other", URL: quick.URL}}})
	s.Notify(event("1"))
	slow.wait(t)
	quick.wait(t)
	for _, id := range []string{"2", "3", "4", "5"} {
		s.Notify(event(id))
		quick.wait(t)
	}
	if got := s.count("dropped"); got != 2 {
		t.Errorf("%v were dropped, want 2", got)
	}
	close(slow.hold)
	eventually(t, "what waited is sent", func() bool { return s.count("sent") == 3 })
	if second := slow.all()[1]; !strings.Contains(second, `"dropped":2`) {
		t.Errorf("the next message says nothing of those that were dropped: %s", second)
	}
	if third := slow.all()[2]; strings.Contains(third, "dropped") {
		t.Errorf("it is said twice: %s", third)
	}
}

func TestWhoIsTold(t *testing.T) {
	tests := []struct {
		name   string
		target Target
		want   bool
	}{
		{"of everything", Target{}, true},
		{"of this type", Target{Events: []Type{Approved, Ended}}, true},
		{"of other types", Target{Events: []Type{Asked}}, false},
		{"of this escalation", Target{Escalations: []string{"emer*"}}, true},
		{"of another escalation", Target{Escalations: []string{"other"}}, false},
		{"of this cluster", Target{Clusters: []string{"prod"}}, true},
		{"of another cluster", Target{Clusters: []string{"dev-*"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.target.Name, tt.target.URL = "ops", "https://ops.example"
			if wrong := tt.target.compile(map[string]bool{}); wrong != nil {
				t.Fatal(wrong)
			}
			e := event("1")
			if got := tt.target.wants(&e); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
