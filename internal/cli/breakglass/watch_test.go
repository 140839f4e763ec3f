package breakglass_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

// TestSessionsWatch tells of what changes after the list, in each format.
func TestSessionsWatch(t *testing.T) {
	for format, want := range map[string]string{
		"text": "2026-11-28T12:00:00Z emergency-access-1 (alice, cluster prod-eu, emergency-access): Revoked, was Pending",
		"json": `{"session":{"name":"emergency-access-1","user":"alice"`,
		"yaml": "  state: Revoked",
	} {
		t.Run(format, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			h := hub(t, bobInTests, object[v1alpha1.BreakglassEscalation](t, escalationInTests), sessionInTests(t, pendingInTests))
			read, write := io.Pipe()
			ended := make(chan int, 1)
			watching, stop := context.WithCancel(ctx)
			defer stop()
			go func() {
				ended <- cli.Main(watching, []string{"sessions", "--watch", "-o", format}, command.Streams{In: strings.NewReader(""), Out: write, Err: io.Discard, Cluster: h, Clock: func() time.Time { return noonInTests }})
				_ = write.Close()
			}()
			lines := make(chan string)
			go func() {
				defer close(lines)
				for s := bufio.NewScanner(read); s.Scan(); {
					lines <- s.Text()
				}
			}()
			changes := time.NewTicker(20 * time.Millisecond)
			defer changes.Stop()
			// The list comes first. The fake cluster is changed back and forth, as it
			// does not tell a watch of what was before it.
			state := v1alpha1.SessionRevoked
			for {
				select {
				case line, open := <-lines:
					if !open {
						t.Fatal("the watch ended by itself")
					}
					if !strings.Contains(line, want) {
						continue
					}
					stop()
					for range lines {
						continue
					}
					if status := <-ended; status != 0 {
						t.Errorf("status %d", status)
					}
					return
				case <-changes.C:
					var s v1alpha1.BreakglassSession
					if err := h.Get(ctx, client.ObjectKey{Name: "emergency-access-1"}, &s); err != nil {
						t.Fatal(err)
					}
					s.Status.State = state
					if err := h.Status().Update(ctx, &s); err != nil {
						t.Fatal(err)
					}
					state = map[v1alpha1.SessionState]v1alpha1.SessionState{v1alpha1.SessionRevoked: v1alpha1.SessionPending, v1alpha1.SessionPending: v1alpha1.SessionRevoked}[state]
				case <-ctx.Done():
					t.Fatal("no change was told")
				}
			}
		})
	}
}
