package breakglass_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

func sessionsInTests(t *testing.T) []client.Object {
	t.Helper()
	named := func(name, user, cluster, status string) client.Object {
		s := sessionInTests(t, status)
		s.Name, s.Spec.User, s.Spec.Cluster = name, user, cluster
		return s
	}
	over := strings.Replace(approvedInTests, inMinutes(56), inMinutes(-1), 1)
	lost := named("lost", "erin", "prod-us", approvedInTests).(*v1alpha1.BreakglassSession)
	lost.Spec.EscalationRef = "gone"
	return []client.Object{
		object[v1alpha1.BreakglassEscalation](t, escalationInTests), lost,
		named("asked", "alice", "prod-eu", pendingInTests), named("new", "dave", "prod-us", "{}"),
		named("open", "alice", "prod-us", approvedInTests), named("over", "dave", "prod-eu", over),
	}
}

func TestSessionList(t *testing.T) {
	for name, args := range map[string][]string{
		"sessions":         {},
		"sessions-all":     {"--all"},
		"sessions-history": {"--history"},
		"sessions-cluster": {"--cluster", "prod-us", "--user", "alice", "-o", "yaml"},
		"sessions-one":     {"over", "-o", "json"},
		"sessions-none":    {"--user", "nobody"},
		"sessions-missing": {"missing"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := onHub(t, hub(t, bobInTests, sessionsInTests(t)...), append([]string{"sessions"}, args...)...)
			clitest.Compare(t, filepath.Join("testdata", "golden", name+".text"), fmt.Sprintf("$ sallyport sessions %s\n%s%s--- exit status %d\n", strings.Join(args, " "), out, errs, status))
		})
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown format":     {[]string{"-o", "table"}, "there are text, json and yaml"},
		"watched files":         {[]string{"-p", ".", "--watch"}, "files do not change"},
		"one argument too many": {[]string{"a", "b"}, "one NAME is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, errs := onHub(t, hub(t, bobInTests), append([]string{"sessions"}, c.args...)...); status != 2 || !strings.Contains(errs, c.says) {
				t.Errorf("status %d: %s", status, errs)
			}
		})
	}
}

// TestSessionWait ends with the answer, whichever it is.
func TestSessionWait(t *testing.T) {
	for name, c := range map[string]struct {
		answer []string
		me     string
		status int
		says   string
	}{
		"approved":  {[]string{"approve", "session", "-y"}, "bob", 0, "Approved by bob, until " + inMinutes(60) + ". Go into cluster prod-eu with: kubectl exec -it -n shop web-0 -- sh\n"},
		"denied":    {[]string{"deny", "session", "-y", "--reason", "not now"}, "bob", 1, "Rejected by bob: not now"},
		"withdrawn": {[]string{"withdraw", "session"}, "alice", 1, "Withdrawn by alice"},
	} {
		t.Run(name, func(t *testing.T) {
			asker := hub(t, aliceInTests, object[v1alpha1.BreakglassEscalation](t, escalationInTests))
			me := aliceInTests
			me.Username = c.me
			waiting, progress := io.Pipe()
			ended := make(chan int, 1)
			var out bytes.Buffer
			go func() {
				ended <- cli.Main(t.Context(), []string{"request", "session", "emergency-access", "--cluster", "prod-eu", "--reason", "INC-1", "--wait", "--timeout", "1m", "--for-exec", "shop/web-0"},
					command.Streams{In: strings.NewReader(""), Out: &out, Err: progress, Cluster: asker, Clock: func() time.Time { return noonInTests }})
				_ = progress.Close()
			}()
			// The first line is written once the session is there, and the fake
			// cluster is watched from before the answer on, as a real one is.
			line := make([]byte, 7)
			if _, err := io.ReadFull(waiting, line); err != nil || string(line) != "waiting" {
				t.Fatalf("%q, %v", line, err)
			}
			go func() { _, _ = io.Copy(io.Discard, waiting) }()
			answerOften(t, asker, me.Username, c.answer, ended, &out, c.status, c.says)
		})
	}
}

// answerOften answers, and writes the answer again until the one who waits has seen it.
func answerOften(t *testing.T, h client.WithWatch, by string, answer []string, ended <-chan int, out *bytes.Buffer, want int, says string) {
	t.Helper()
	var list v1alpha1.BreakglassSessionList
	if err := h.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %d sessions", err, len(list.Items))
	}
	me := aliceInTests
	me.Username = by
	var stdout, stderr bytes.Buffer
	args := append(append([]string{}, answer[:2]...), list.Items[0].Name)
	if status := cli.Main(t.Context(), append(args, answer[2:]...), command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Cluster: as(h, me), Clock: func() time.Time { return noonInTests }}); status != 0 {
		t.Fatalf("status %d: %s%s", status, &stdout, &stderr)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for n := 0; ; n++ {
		select {
		case status := <-ended:
			if status != want || !strings.Contains(out.String(), says) {
				t.Errorf("status %d: %s", status, out)
			}
			return
		case <-ticker.C:
			var s v1alpha1.BreakglassSession
			if err := h.Get(limit, client.ObjectKey{Name: list.Items[0].Name}, &s); err != nil {
				t.Fatal(err)
			}
			s.Annotations = map[string]string{"n": fmt.Sprint(n)}
			if err := h.Update(limit, &s); err != nil {
				t.Fatal(err)
			}
		case <-limit.Done():
			t.Fatal("the waiting did not end")
		}
	}
}
