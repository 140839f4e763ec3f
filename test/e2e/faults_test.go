package e2e

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// faultPolicies are two of the same, except for the namespace that each is about
// and for the fail mode.
const faultPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: strict}
spec:
  podSecurityRules:
    failMode: closed
    riskFactors: {privilegedContainer: 90}
    thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny, reason: "{{.pod}} is too risky"}]
    exemptions: {namespaces: {patterns: [lenient]}, podLabels: {exempt-strict: "yes"}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: lenient}
spec:
  podSecurityRules:
    failMode: open
    riskFactors: {privilegedContainer: 90}
    thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny, reason: "{{.pod}} is too risky"}]
    exemptions: {namespaces: {patterns: [strict]}, podLabels: {exempt-lenient: "yes"}}
`

// faultPods stand in both namespaces.
const faultPods = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: registry.example.com/web:1}]
---
apiVersion: v1
kind: Pod
metadata: {name: risky}
spec:
  containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]
`

// TestFaults takes the API server away from Sallyport in every way while reviews
// come in. Each is answered in time, by the fail mode of its policy; afterwards
// answers are what they were, and nothing is left behind.
func TestFaults(t *testing.T) {
	l, err := startLab(t.Context(), lab.Options{CRDs: []string{filepath.Join(repository(t), "config", "crd")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	manifest := faultPolicies
	for _, namespace := range []string{"strict", "lenient"} {
		if err := l.CreateNamespace(t.Context(), namespace, nil); err != nil {
			t.Fatal(err)
		}
		manifest += "---" + strings.ReplaceAll(faultPods, "metadata: {", "metadata: {namespace: "+namespace+", ")
	}
	if err := l.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(l.Config.Host)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("process", func(t *testing.T) {
		s := newSieged(t, l, lab.SallyportOptions{Binary: quick, Name: "direct"})
		t.Run("killed and started again", func(t *testing.T) {
			s.suffers(t, l.StartAPIServer, func() error { return l.KillAPIServer(t.Context()) })
		})
		t.Run("stopped and continued", func(t *testing.T) {
			s.suffers(t, l.ResumeAPIServer, l.PauseAPIServer)
		})
	})
	t.Run("connection", func(t *testing.T) {
		r := newRelay(t, server.Host)
		s := newSieged(t, l, lab.SallyportOptions{Binary: quick, Name: "relayed", APIServer: r.Address()})
		t.Run("cut, then silent", func(t *testing.T) { s.suffers(t, r.Restore, always(r.Cut), r.Silence) })
		t.Run("silent while open", func(t *testing.T) { s.suffers(t, r.Restore, r.Silence) })
	})
}

// newRelay starts a relay to target that ends with the test.
func newRelay(t *testing.T, target string) *lab.Relay {
	t.Helper()
	r, err := lab.NewRelay(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// always is a call that cannot fail.
func always(call func()) func() error {
	return func() error {
		call()
		return nil
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sieged is a Sallyport whose API server is taken away.
type sieged struct {
	*lab.Sallyport
	auditLog string
}

func newSieged(t *testing.T, l *lab.Lab, options lab.SallyportOptions) *sieged {
	t.Helper()
	s := &sieged{auditLog: filepath.Join(t.TempDir(), "audit.jsonl")}
	options.Args = []string{"--audit-log", s.auditLog}
	var err error
	if s.Sallyport, err = l.StartSallyport(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	// What is made at the first review, such as connections, is not a leak.
	warm := startTraffic(t, s.Sallyport)
	warm.await(t, time.Time{}, 2, func(q *question) outcome { return q.ordinary })
	warm.stop()
	return s
}

// suffers breaks what is between Sallyport and the API server, once or from bad
// to worse, and mends it.
func (s *sieged) suffers(t *testing.T, mend func() error, breaks ...func() error) {
	const times = 3
	ordinary, failed := func(q *question) outcome { return q.ordinary }, func(q *question) outcome { return q.failed }
	before := s.settledGoroutines(t)
	tr := startTraffic(t, s.Sallyport)
	tr.await(t, time.Time{}, 1, ordinary)

	// Within a span, everything that is asked and answered has to be one thing.
	type span struct {
		from, to time.Time
		want     func(*question) outcome
	}
	var spans []span
	steady := func(want func(*question) outcome) {
		from := time.Now()
		tr.await(t, from, times, want)
		spans = append(spans, span{from, time.Now(), want})
	}
	for _, breakIt := range breaks {
		if err := breakIt(); err != nil {
			t.Fatal(err)
		}
		tr.await(t, time.Now(), 1, failed)
		steady(failed)
	}
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	mended := time.Now()
	tr.await(t, mended, times, ordinary)
	t.Logf("answers were ordinary again %s after the API server was back", time.Since(mended).Round(time.Millisecond))
	steady(ordinary)
	answers := tr.stop()

	logged := s.awaitAudit(t, answers)
	slowest := map[string]time.Duration{}
	for i := range answers {
		a := &answers[i]
		took := a.done.Sub(a.sent)
		door, _, _ := strings.Cut(a.question.path, "?")
		slowest[door] = max(slowest[door], took)
		if took > a.question.limit {
			t.Errorf("the API server had left after %s: %s", a.question.limit, a)
		}
		allowed := []outcome{a.question.ordinary, a.question.failed}
		for _, span := range spans {
			if !a.sent.Before(span.from) && !a.done.After(span.to) {
				allowed = []outcome{span.want(a.question)}
			}
		}
		if !a.isOneOf(allowed, logged[a.id]) {
			t.Errorf("want one of %+v, got %s, logged %q", allowed, a, logged[a.id])
		}
		if strings.Contains(a.says+logged[a.id], "127.0.0.1") {
			t.Errorf("the address of the API server is given away: %s, logged %q", a, logged[a.id])
		}
	}
	after := s.awaitGoroutines(t, before)
	t.Logf("%d answers, the slowest after %v; %d goroutines before, %d after", len(answers), slowest, before, after)
}

// isOneOf tells whether the answer and its audit event are one of the outcomes.
func (a *answer) isOneOf(outcomes []outcome, logged string) bool {
	for _, o := range outcomes {
		// A fail mode that nobody expects is as wrong as one that is missing.
		if a.is(o) && strings.Contains(logged, o.logged) && strings.Contains(logged, "failMode") == strings.Contains(o.logged, "failMode") {
			return true
		}
	}
	return false
}

// awaitAudit returns what was logged of answers when all is there that has to
// be: events are written a moment after the answer.
func (s *sieged) awaitAudit(t *testing.T, answers []answer) (logged map[string]string) {
	t.Helper()
	eventually(t, func() string {
		logged = auditMessages(t, s.auditLog)
		for i := range answers {
			if a := &answers[i]; !a.isOneOf([]outcome{a.question.ordinary, a.question.failed}, logged[a.id]) {
				return "the audit event is not as it should be: " + a.String() + "\n" + logged[a.id]
			}
		}
		return ""
	})
	return logged
}

// settledGoroutines returns how many goroutines Sallyport has when that number
// does not change any more.
func (s *sieged) settledGoroutines(t *testing.T) (count int) {
	t.Helper()
	same := 0
	eventually(t, func() string {
		now := s.goroutines(t)
		if same++; now != count {
			same, count = 0, now
		}
		if same < 5 {
			return "the number of goroutines goes on changing: " + strconv.Itoa(count)
		}
		return ""
	})
	return count
}

// awaitGoroutines returns when there are no more goroutines than before, except for
// a few: watches that connect again come and go. Each of them can take a while
// to notice that its connection is silent. What each of the hundreds of answers
// left behind would be far more, and would stay.
func (s *sieged) awaitGoroutines(t *testing.T, before int) (after int) {
	t.Helper()
	const few, limit = 5, 2 * time.Minute
	eventuallyWithin(t, limit, func() string {
		if after = s.goroutines(t); after > before+few {
			return strconv.Itoa(before) + " goroutines before, and now " + strconv.Itoa(after)
		}
		return ""
	})
	return after
}

func (s *sieged) goroutines(t *testing.T) int {
	t.Helper()
	_, metrics, err := s.Get(t.Context(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			count, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	t.Fatalf("there is no go_goroutines among the metrics:\n%s", metrics)
	return 0
}

// eventually returns when nothing is missing any more.
func eventually(t *testing.T, missing func() string) {
	t.Helper()
	eventuallyWithin(t, waitLimit, missing)
}

// eventuallyWithin is eventually with another limit.
func eventuallyWithin(t *testing.T, limit time.Duration, missing func() string) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-deadline.Done():
			t.Fatal(what)
		case <-ticker.C:
		}
	}
}
