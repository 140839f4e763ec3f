package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// interval is how often traffic asks.
const interval = 15 * time.Millisecond

// traffic asks questions in turn, at a steady pace however long the answers
// take, and keeps the answers.
type traffic struct {
	client    *http.Client
	url       string
	questions []question
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	answers []answer
}

// answer is what came of one question.
type answer struct {
	id         string
	question   *question
	sent, done time.Time
	allowed    bool
	says       string
	err        error
}

// is tells whether just the answer, without its audit event, is this outcome.
func (a *answer) is(want outcome) bool {
	return a.err == nil && a.allowed == want.allowed && strings.Contains(a.says, want.says)
}

func (a *answer) String() string {
	return fmt.Sprintf("%s (%s): allowed %v after %s, %q, %v", a.question.name, a.id, a.allowed, a.done.Sub(a.sent).Round(time.Millisecond), a.says, a.err)
}

// startTraffic asks a Sallyport until stop.
func startTraffic(t *testing.T, s *lab.Sallyport) *traffic {
	t.Helper()
	client, err := s.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	// Like the API server, it keeps its connections.
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 1000
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{client: client, url: s.URL, questions: faultQuestions(), cancel: cancel}
	tr.running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			q := &tr.questions[i%len(tr.questions)]
			id := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), i)
			tr.running.Go(func() {
				a := tr.ask(q, id)
				tr.mu.Lock()
				tr.answers = append(tr.answers, a)
				tr.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() { tr.stop() })
	return tr
}

// stop asks no more, and returns all answers when the last has come. No
// connection is left.
func (tr *traffic) stop() []answer {
	tr.cancel()
	tr.running.Wait()
	tr.client.CloseIdleConnections()
	return tr.answers
}

func (tr *traffic) ask(q *question, id string) (a answer) {
	a = answer{id: id, question: q}
	body, err := json.Marshal(q.review(id))
	if err != nil {
		a.err = err
		return a
	}
	a.sent = time.Now()
	defer func() { a.done = time.Now() }()
	response, err := tr.client.Post(tr.url+q.path, "application/json", bytes.NewReader(body))
	if err != nil {
		a.err = err
		return a
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %s: %s", response.Status, content)
	}
	if err != nil {
		a.err = err
		return a
	}
	a.allowed, a.says, a.err = readAnswer(q.path, content)
	return a
}

// await returns when each question that was asked from since on has had the
// outcome, so many times in a row up to now.
func (tr *traffic) await(t *testing.T, since time.Time, times int, want func(*question) outcome) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		missing := tr.missing(since, times, want)
		if missing == "" {
			return
		}
		select {
		case <-deadline.Done():
			t.Fatalf("not %d times in a row as it should be: %s", times, missing)
		case <-ticker.C:
		}
	}
}

// missing names a question that has not had the outcome so many times in a row.
func (tr *traffic) missing(since time.Time, times int, want func(*question) outcome) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	row := map[*question]int{}
	last := map[*question]*answer{}
	for i := range tr.answers {
		a := &tr.answers[i]
		if a.sent.Before(since) {
			continue
		}
		last[a.question] = a
		if row[a.question]++; !a.is(want(a.question)) {
			row[a.question] = 0
		}
	}
	for i := range tr.questions {
		if q := &tr.questions[i]; row[q] < times {
			if last[q] == nil {
				return q.name + " had no answer"
			}
			return last[q].String()
		}
	}
	return ""
}

// auditMessages reads an audit log: for the uid of each user, what its event
// says.
func auditMessages(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	messages := map[string]string{}
	for line := range bytes.Lines(content) {
		var event struct {
			User    struct{ UID string }
			Results []struct{ Message string }
		}
		// The last line may be written just now.
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%v in the audit event %s", err, line)
		}
		for _, result := range event.Results {
			messages[event.User.UID] += result.Message + "\n"
		}
	}
	return messages
}
